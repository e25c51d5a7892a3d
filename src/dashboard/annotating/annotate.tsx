// Judging the items of a queue by keyboard: the conversation, one question after the other, and which key answers what.
import { useRef } from "preact/hooks";
import { type AnswerKey, answerKeys, sessionKeys, typedAnswer } from "../../client/annotating/answer-keys.ts";
import type {
  AnnotationSession,
  HeldItem,
  SessionState,
} from "../../client/annotating/annotation-session.ts";
import type { AskedQuestion, QuestionAgreement } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Facts, View } from "../parts/shown.tsx";
import { addressOf, place } from "../router.ts";
import { type Shortcut, useShortcuts } from "../shortcuts.tsx";
import { useLoaded } from "../use-loaded.ts";
import { useSession } from "./use-session.ts";

type Run = (work: (session: AnnotationSession) => Promise<void>) => void;

export function Annotate({ hone, queueId }: { readonly hone: Hone; readonly queueId: string }) {
  const project = place.value.query.get("project") ?? "";
  const { state, failure, run } = useSession(hone, project, queueId);
  // Keys are registered once, and do what they do by then.
  const latest = useRef(state);
  latest.current = state;
  useShortcuts(keysOf(latest, run), []);
  return (
    <View title={state?.queue.name ?? "Annotation queue"}>
      <nav class="links" aria-label="Annotation queues">
        <a href={addressOf("queues", [], { project })}>All queues</a>
      </nav>
      {failure !== null && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {state === null ? (
        failure === null && <p class="muted">Loading …</p>
      ) : (
        <Session state={state} run={run} hone={hone} />
      )}
    </View>
  );
}

function Session({
  state,
  run,
  hone,
}: {
  readonly state: SessionState;
  readonly run: Run;
  readonly hone: Hone;
}) {
  const { held, question, queue, answeredCount, skippedCount, remaining } = state;
  const done = answeredCount + skippedCount;
  return (
    <>
      <p role="status">
        <progress value={done} max={Math.max(1, done + remaining.open)} aria-label="Items done" /> {done} of{" "}
        {done + remaining.open}
        {skippedCount > 0 && `, ${skippedCount} skipped`}
      </p>
      {held === null ? (
        <p>
          {remaining.open === 0
            ? "There is nothing more to do."
            : "Others are at the last items; what they give back comes here."}
        </p>
      ) : (
        <div class="beside">
          <Item held={held} />
          <aside>
            <section aria-labelledby="question">
              <h2 id="question" aria-live="polite">
                {question?.text ?? "This queue asks nothing"}
              </h2>
              {queue.asked.length > 1 && (
                <p class="muted">
                  {state.questionIndex + 1} of {queue.asked.length}
                </p>
              )}
              {question === null ? (
                <button type="button" onClick={() => run((session) => session.answer(undefined))}>
                  Done <kbd>d</kbd>
                </button>
              ) : (
                <Question key={`${held.item.id} ${question.name}`} question={question} run={run} />
              )}
            </section>
            <p class="reactions">
              <button type="button" onClick={() => run((session) => session.skip())}>
                Skip <kbd>{sessionKeys.skip}</kbd>
              </button>
            </p>
          </aside>
        </div>
      )}
      <p>
        <button type="button" disabled={!state.canUndo} onClick={() => run((session) => session.undo())}>
          Undo <kbd>{sessionKeys.undo}</kbd>
        </button>
      </p>
      <AgreementOf hone={hone} state={state} done={done} />
    </>
  );
}

function Item({ held: { item, content } }: { readonly held: HeldItem }) {
  if (content === null)
    return (
      <p>
        <code>{item.vendor_ref}</code> is not recorded by this server: judge it where it is kept.
      </p>
    );
  return (
    <div>
      {content.messages.map(({ role, text }, index) => (
        <article key={index} class="turn" aria-label={role}>
          <h3>{role}</h3>
          <div class="said">{text}</div>
        </article>
      ))}
      {content.answers.map(({ text, reasoning, calls }, index) => (
        <article key={`answer ${index}`} class="turn reply" aria-label={`Answer ${index + 1}`}>
          <h3>{content.answers.length === 1 ? "answer" : `answer ${index + 1}`}</h3>
          {reasoning !== "" && (
            <details>
              <summary>Thoughts</summary>
              <div class="said">{reasoning}</div>
            </details>
          )}
          {text !== "" && <div class="said">{text}</div>}
          {calls.map((call, place) => (
            <div key={place} class="said code">
              {call.name}({call.arguments})
            </div>
          ))}
        </article>
      ))}
    </div>
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
              {answerLabel(question)} <kbd>w</kbd>
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
        keys.map((key) => <AnswerButton key={key.key} answer={key} onGive={give} />)
      )}
      {question.optional && (
        <button type="button" onClick={() => give(undefined)}>
          Leave out <kbd>-</kbd>
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

function AgreementOf({
  hone,
  state,
  done,
}: {
  readonly hone: Hone;
  readonly state: SessionState;
  readonly done: number;
}) {
  const { id, project_id } = state.queue;
  const isShown = state.queue.annotators_per_item > 1;
  const loaded = useLoaded(
    (signal) =>
      isShown ? hone.queues.agreement({ project_id, queue_id: id }, { signal }) : Promise.resolve([]),
    [hone, id, done],
  );
  const rows = (loaded.value ?? []).filter(({ percent_agreement: percent }) => percent !== null);
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="agreement">
      <h2 id="agreement">Agreement</h2>
      <Facts of={rows.map((row) => [row.question, agreementText(row)] as const)} />
    </section>
  );
}

function agreementText({ percent_agreement: percent, kappa, statistic, reason }: QuestionAgreement): string {
  const name = statistic === "cohen" ? "Cohen's" : "Fleiss'";
  return `${(percent ?? 0).toFixed(0)} %, ${kappa === null ? (reason ?? "") : `${name} kappa ${kappa.toFixed(3)}`}`;
}

/** Every key that may answer a question; what the present one does not know does nothing. */
const answering = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "y", "n"];

function keysOf(latest: { readonly current: SessionState | null }, run: Run): readonly Shortcut[] {
  const answer = (key: string) => (): void => {
    const question = latest.current?.question ?? null;
    const found = question === null ? undefined : answerKeys(question)?.find((one) => one.key === key);
    if (found !== undefined) run((session) => session.answer(found.value));
  };
  return [
    ...answering.map((key) => ({ keys: key, does: "answer", run: answer(key) })),
    { keys: sessionKeys.skip, does: "skip the item", run: () => run((session) => session.skip()) },
    {
      keys: sessionKeys.undo,
      does: "take the last answer back",
      run: () => run((session) => session.undo()),
    },
    {
      keys: "-",
      does: "leave the question out, where that may be",
      run: () => latest.current?.question?.optional === true && run((session) => session.answer(undefined)),
    },
    {
      keys: "w",
      does: "write the answer",
      run: () => document.querySelector<HTMLInputElement>("[data-answer]")?.focus(),
    },
    {
      keys: "d",
      does: "be done with an item that asks nothing",
      run: () => {
        const { held = null, question = null } = latest.current ?? {};
        if (held !== null && question === null) run((session) => session.answer(undefined));
      },
    },
  ];
}
