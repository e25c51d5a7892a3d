// Panel that shows the feedback on a subject. Its forms and keys add a reaction, a note, or a record of another type.
import { useRef } from "preact/hooks";
import type { FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { When } from "../components/shown.tsx";
import { type Shortcut, useShortcuts } from "../shortcuts.tsx";
import { useLoaded } from "../use-loaded.ts";
import { FreeForm } from "./free-form.tsx";
import { isReaction, note as noteOf, noteLengthMax, reaction, formatRecord } from "./records.ts";
import type { Subject } from "./references.ts";
import { useFeedback } from "./use-feedback.ts";

/** Emojis of the reactions. The digit key 1 stands for the first. */
const reactions = ["👍", "👎", "🎉", "🤔", "❤️"] as const;

/**
 * @param isElsewhere returns true for records that another panel shows
 * @param hasKeys true if the view's keyboard shortcuts apply to this panel
 */
export function FeedbackPanel({
  hone,
  subject,
  isElsewhere = () => false,
  hasKeys = true,
  label = "Feedback",
}: {
  readonly hone: Hone;
  readonly subject: Subject;
  readonly isElsewhere?: (record: FeedbackRecord) => boolean;
  readonly hasKeys?: boolean;
  readonly label?: string;
}) {
  const feedback = useFeedback(hone, subject);
  const records = feedback.records.filter((record) => !isElsewhere(record));
  const key = useLoaded((signal) => hone.server.key({ signal }), [hone]);
  const note = useRef<HTMLTextAreaElement>(null);
  const owner = key.value?.owner;
  const isOwn = (record: FeedbackRecord): boolean => record.vendor_user_id === owner;
  const given = (emoji: string) => records.find((record) => isOwn(record) && isReaction(record, emoji));
  /** Adds the user's reaction, or removes it if the user has already given it. */
  const react = (emoji: string): void => {
    const record = given(emoji);
    if (record === undefined) feedback.give(reaction(emoji));
    else feedback.remove(record.id);
  };
  // Shortcuts are registered only once, so they call the function of the latest rendering through this ref.
  const latest = useRef(react);
  latest.current = react;
  useShortcuts(hasKeys ? keysOf(latest, note) : [], [hasKeys]);
  const saveNote = (): void => {
    const text = note.current?.value.trim() ?? "";
    if (text === "") return;
    feedback.give(noteOf(text), () => {
      if (note.current !== null) note.current.value = "";
    });
  };
  return (
    <section class="feedback" aria-label={label}>
      <h2>{label}</h2>
      <div class="reactions" role="group" aria-label="Reactions">
        {reactions.map((emoji) => (
          <button
            key={emoji}
            type="button"
            aria-pressed={given(emoji) !== undefined}
            aria-label={`React with ${emoji}`}
            onClick={() => react(emoji)}
          >
            {emoji}
          </button>
        ))}
      </div>
      <form
        class="stacked"
        onSubmit={(event) => {
          event.preventDefault();
          saveNote();
        }}
      >
        <label>
          Note
          <textarea
            ref={note}
            rows={3}
            maxLength={noteLengthMax}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) saveNote();
              else if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </label>
        <button type="submit">Save note</button>
      </form>
      <FreeForm onGive={feedback.give} />
      {feedback.failure === null ? (
        <p class="muted" role="status">
          {feedback.isLoaded ? countText(records.length, feedback.hasMore) : "Loading …"}
        </p>
      ) : (
        <p class="failure" role="alert">
          {feedback.failure}
        </p>
      )}
      <ul class="records">
        {records.map((record) => (
          <RecordItem
            key={record.id}
            record={record}
            onRemove={isOwn(record) ? () => feedback.remove(record.id) : null}
          />
        ))}
      </ul>
      {hasKeys && (
        <p class="muted">
          <kbd>1</kbd> to <kbd>5</kbd> react, <kbd>+</kbd> and <kbd>-</kbd> give a thumbs up or down,{" "}
          <kbd>c</kbd> starts a note, <kbd>Ctrl</kbd> <kbd>Enter</kbd> saves it
        </p>
      )}
    </section>
  );
}

function keysOf(
  react: { readonly current: (emoji: string) => void },
  note: { readonly current: HTMLTextAreaElement | null },
): readonly Shortcut[] {
  const reacting = (keys: string, emoji: string): Shortcut => ({
    keys,
    does: `react with ${emoji}, or undo the reaction`,
    run: () => react.current(emoji),
  });
  return [
    ...reactions.map((emoji, index) => reacting(String(index + 1), emoji)),
    reacting("+", "👍"),
    reacting("-", "👎"),
    { keys: "c", does: "write a note", run: () => note.current?.focus() },
  ];
}

function RecordItem({
  record,
  onRemove,
}: {
  readonly record: FeedbackRecord;
  readonly onRemove: (() => void) | null;
}) {
  const said = formatRecord(record);
  return (
    <li>
      <span class="said">{said}</span>
      <span class="muted">
        {record.creator ?? record.vendor_user_id}, <When at={record.created_at} />
      </span>
      {onRemove !== null && (
        <button type="button" class="plain" aria-label={`Remove ${said}`} onClick={onRemove}>
          Remove
        </button>
      )}
    </li>
  );
}

function countText(count: number, hasMore: boolean): string {
  if (count === 0) return "None yet.";
  if (hasMore) return `The first ${count}; there are more.`;
  return count === 1 ? "1 record" : `${count} records`;
}
