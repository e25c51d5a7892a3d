// View for annotating a queue's items by keyboard: the item's conversation, its questions one by one, and the keys
// that answer them.
import { useRef } from "preact/hooks";
import { type AnswerKey, answerKeys, sessionKeys, typedAnswer } from "../../client/annotating/answer-keys.ts";
import {
  type AnnotationSession,
  progressOf,
  type SessionState,
} from "../../client/annotating/annotation-session.ts";
import type { AskedQuestion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { counted } from "../components/numbers.ts";
import { View } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { type Shortcut, useShortcuts } from "../shortcuts.tsx";
import { useSession } from "./use-session.ts";
import { Finished, NoItem } from "./finished.tsx";
import { QueueItem } from "./queue-item.tsx";

type Run = (work: (session: AnnotationSession) => Promise<void>) => void;

/**
 * Returns a variant of `run` that does nothing if the session has moved on from the question on screen. A key pressed
 * twice must not answer the next question before the annotator has seen it.
 */
function runShown(run: Run, { held, questionIndex }: SessionState): Run {
  return (work) => {
    run(async (session) => {
      const now = session.state;
      const isShown = now.held?.item.id === held?.item.id && now.questionIndex === questionIndex;
      if (isShown) await work(session);
    });
  };
}

export function Annotate({ hone, queueId }: { readonly hone: Hone; readonly queueId: string }) {
  const { query } = place.value;
  const [project, as] = [query.get("project") ?? "", query.get("as") ?? ""];
  const { state, failure, run: runLater } = useSession(hone, { project_id: project, queue_id: queueId }, as);
  const run = state === null ? runLater : runShown(runLater, state);
  useShortcuts(state === null ? [] : keysOf(state, run), [state]);
  return (
    <View
      title={state?.queue.name ?? "Annotation queue"}
      path={[["Queues", addressOf("queues", [], { project, as })]]}
      actions={
        <a class="button" href={addressOf("queues", [queueId, "items"], { project, as })}>
          Items
        </a>
      }
    >
      <Failure of={failure} />
      {state === null ? (
        failure === null && <p class="muted">Loading …</p>
      ) : (
        <Session hone={hone} state={state} run={run} />
      )}
    </View>
  );
}

function Session({
  hone,
  state,
  run,
}: {
  readonly hone: Hone;
  readonly state: SessionState;
  readonly run: Run;
}) {
  const { held, question, queue, annotator, remaining } = state;
  const { done, skipped, total } = progressOf(state);
  const undo = (
    <button type="button" disabled={!state.canUndo} onClick={() => run((session) => session.undo())}>
      Undo <kbd>{sessionKeys.undo}</kbd>
    </button>
  );
  if (held === null && total === 0)
    return <NoItem hone={hone} queue={queue} onAdded={() => run((session) => session.look())} />;
  return (
    <>
      {queue.description !== "" && <p class="said">{queue.description}</p>}
      <p role="status">
        <progress value={done} max={total} aria-label="Items done" /> {done.toLocaleString("en")} of{" "}
        {counted(total, "item")} done
        {skipped > 0 && `, ${skipped} skipped`} <span class="muted">– you answer as {annotator}</span>
      </p>
      {held === null ? (
        <>
          <p>
            {remaining.open === 0
              ? "No items left."
              : "Other annotators are working on the last items. An item appears here if they release it."}
          </p>
          {remaining.open === 0 && <Finished queue={queue} />}
          <p>{undo}</p>
        </>
      ) : (
        <div class="beside">
          <QueueItem held={held} />
          <aside>
            <section aria-labelledby="question">
              <h2 id="question" aria-live="polite">
                {question?.text ?? "This queue has no questions"}
              </h2>
              {queue.asked.length > 1 && (
                <p class="muted">
                  {state.questionIndex + 1} of {queue.asked.length}
                </p>
              )}
              {question === null ? (
                <button type="button" onClick={() => run((session) => session.answer(undefined))}>
                  Done <kbd>{doneKey}</kbd>
                </button>
              ) : (
                <Question key={`${held.item.id} ${question.name}`} question={question} run={run} />
              )}
            </section>
            <p class="reactions">
              <button type="button" onClick={() => run((session) => session.skip())}>
                Skip <kbd>{sessionKeys.skip}</kbd>
              </button>
              {undo}
            </p>
          </aside>
        </div>
      )}
    </>
  );
}

function Question({ question, run }: { readonly question: AskedQuestion; readonly run: Run }) {
  const keys = answerKeys(question);
  const field = useRef<HTMLInputElement>(null);
  const give = (value: unknown): void => run((session) => session.answer(value));
  return (
    <div class="stacked">
      {keys === null ? (
        <form
          class="stacked"
          onSubmit={(event) => {
            event.preventDefault();
            const read = typedAnswer(question, field.current?.value ?? "");
            if ("value" in read) give(read.value);
            else field.current?.setCustomValidity(read.fault);
            field.current?.reportValidity();
          }}
        >
          <label>
            <span>
              {answerLabel(question)} <kbd>{writeKey}</kbd>
            </span>
            <input
              ref={field}
              data-answer
              onInput={(event) => event.currentTarget.setCustomValidity("")}
              onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
            />
          </label>
          <button type="submit">Send</button>
        </form>
      ) : (
        <div class="reactions">
          {keys.map((key) => (
            <AnswerButton key={key.key} answer={key} onGive={give} />
          ))}
        </div>
      )}
      {question.optional && (
        <button type="button" onClick={() => give(undefined)}>
          Leave unanswered <kbd>{sessionKeys.leaveOut}</kbd>
        </button>
      )}
    </div>
  );
}

function AnswerButton({
  answer,
  onGive,
}: {
  readonly answer: AnswerKey;
  readonly onGive: (value: unknown) => void;
}) {
  return (
    <button type="button" onClick={() => onGive(answer.value)}>
      {answer.label === "" ? answer.key : answer.label} <kbd>{answer.key}</kbd>
    </button>
  );
}

function answerLabel({ kind, choices }: AskedQuestion): string {
  const what = {
    choice: "Answer",
    boolean: "Answer",
    integer: "A whole number",
    number: "A number",
    text: "A text",
    json: "An answer",
  };
  return kind === "choice" ? `One of ${(choices ?? []).map(String).join(", ")}` : what[kind];
}

/**
 * Keys that focus the text field, and that finish an item without questions. Only the page needs these two keys: in the
 * terminal, Enter does both.
 */
const [writeKey, doneKey] = ["w", "d"];

/** Returns the shortcuts for the current item and question. */
function keysOf({ held, question, canUndo }: SessionState, run: Run): readonly Shortcut[] {
  const answer = (value: unknown) => (): void => run((session) => session.answer(value));
  const undo = {
    keys: sessionKeys.undo,
    does: "undo the last answer",
    run: () => run((session) => session.undo()),
  };
  const ofItem = {
    keys: sessionKeys.skip,
    does: "skip the item",
    run: () => run((session) => session.skip()),
  };
  return [
    ...(held === null
      ? []
      : [...(question === null ? [noQuestion(run)] : keysOfQuestion(question, answer)), ofItem]),
    ...(canUndo ? [undo] : []),
  ];
}

function noQuestion(run: Run): Shortcut {
  return {
    keys: doneKey,
    does: "finish the item",
    run: () => run((session) => session.answer(undefined)),
  };
}

function keysOfQuestion(
  question: AskedQuestion,
  answer: (value: unknown) => () => void,
): readonly Shortcut[] {
  const write = {
    keys: writeKey,
    does: "write the answer",
    run: () => document.querySelector<HTMLInputElement>("[data-answer]")?.focus(),
  };
  const leaveOut = {
    keys: sessionKeys.leaveOut,
    does: "leave the question unanswered",
    run: answer(undefined),
  };
  const keys = answerKeys(question)?.map(({ key, label, value }) => ({
    keys: key,
    does: `answer ${label === "" ? key : label}`,
    run: answer(value),
  }));
  return [...(keys ?? [write]), ...(question.optional ? [leaveOut] : [])];
}
