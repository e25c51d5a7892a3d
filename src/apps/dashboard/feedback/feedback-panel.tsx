// Panel that shows the feedback on a subject. Its forms and keys add a reaction, a note, or a record of another type.
import { useRef } from "preact/hooks";
import type { FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { useDraft } from "../components/forms/draft.ts";
import { When } from "../components/shown.tsx";
import { type Shortcut, useShortcuts } from "../shortcuts.tsx";
import { CodeText } from "../components/errors/code-text.tsx";
import { may, session } from "../session.ts";
import { FreeForm } from "./free-form.tsx";
import { isReaction, note as noteOf, noteLengthMax, formatRecord } from "./records.ts";
import { RawRecord } from "./raw-record.tsx";
import type { Subject } from "./references.ts";
import { counted } from "../components/numbers.ts";
import { useFeedback } from "./use-feedback.ts";

/** Emojis of the reactions. The digit key 1 stands for the first. */
const reactions = ["👍", "👎", "🎉", "🤔", "❤️"] as const;

/** Shows nothing to a key that may not list feedback. */
export function FeedbackPanel(properties: Properties) {
  return may("readFeedback") ? <Panel {...properties} /> : null;
}

interface Properties {
  readonly hone: Hone;
  readonly subject: Subject;
  /** Returns true for records that another panel shows. */
  readonly isElsewhere?: (record: FeedbackRecord) => boolean;
  /** True if the view's keyboard shortcuts apply to this panel. */
  readonly hasKeys?: boolean;
  /** True to show the forms only after a click. */
  readonly isFolded?: boolean;
  readonly label?: string;
}

function Panel({
  hone,
  subject,
  isElsewhere = () => false,
  hasKeys = true,
  isFolded = false,
  label = "Feedback",
}: Properties) {
  const feedback = useFeedback(hone, subject);
  const records = feedback.records.filter((record) => !isElsewhere(record));
  const note = useRef<HTMLTextAreaElement>(null);
  const [typed, setTyped] = useDraft(subject.reference);
  const owner = session.value?.key.owner;
  const isOwn = (record: FeedbackRecord): boolean => record.vendor_user_id === owner;
  const given = (emoji: string) => records.find((record) => isOwn(record) && isReaction(record, emoji));
  const { canJudge } = feedback;
  const react = (emoji: string): void =>
    feedback.react(emoji, (record) => isOwn(record) && !isElsewhere(record));
  // Shortcuts are registered only once, so they call the function of the latest rendering through this ref.
  const latest = useRef(react);
  latest.current = react;
  const usesKeys = hasKeys && canJudge;
  useShortcuts(usesKeys ? keysOf(latest, note) : [], [usesKeys]);
  const saveNote = (): void => {
    const text = typed.trim();
    if (text !== "") feedback.give(noteOf(text), () => setTyped(""));
  };
  const forms = (
    <>
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
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) saveNote();
              else if (event.key === "Escape") event.currentTarget.blur();
            }}
          />
        </label>
        <button type="submit">Save note</button>
      </form>
      <FreeForm onGive={feedback.give} />
    </>
  );
  return (
    <section class="feedback" aria-label={label}>
      <h2>{label}</h2>
      {canJudge && (
        <>
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
          {isFolded ? (
            <details open={typed !== ""}>
              <summary>Note and other feedback</summary>
              {forms}
            </details>
          ) : (
            forms
          )}
        </>
      )}
      {feedback.failure === null ? (
        <p class="muted" role="status">
          {feedback.isLoaded ? countText(records.length, feedback.hasMore) : "Loading …"}
        </p>
      ) : (
        <p class="failure" role="alert">
          <CodeText of={feedback.failure} />
        </p>
      )}
      <ul class="records">
        {records.map((record) => (
          <RecordItem
            key={record.id}
            record={record}
            onRemove={canJudge && isOwn(record) ? () => feedback.remove(record.id) : null}
          />
        ))}
      </ul>
      {usesKeys && (
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
      <RawRecord record={record} />
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
  return counted(count, "record");
}
