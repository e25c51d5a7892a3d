// A round of a conversation: the question, which can be edited, and the answers of each model side by side.
import { useState } from "preact/hooks";
import { AnswerDiff } from "../reading/answer-diff.tsx";
import { askOnEnter } from "./ask-on-enter.ts";
import type { Hone } from "../../client/hone.ts";
import { may } from "../session.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import { answerOf } from "../feedback/references.ts";
import type { Reply, Round } from "./conversation.ts";
import { ReplyView } from "./reply-view.tsx";
import type { Chat } from "./use-chat.ts";

export function RoundView({
  hone,
  round,
  index,
  chat,
  models,
  showsTokens,
  entity,
}: {
  readonly hone: Hone;
  readonly round: Round;
  readonly index: number;
  readonly chat: Chat;
  readonly models: readonly string[];
  readonly showsTokens: boolean;
  /** Entity of the user, to which feedback on answers of base models belongs; null until it is known. */
  readonly entity: string | null;
}) {
  const isLast = index === chat.rounds.length - 1;
  return (
    <article class="round" aria-label={`Round ${index + 1}`}>
      <Question text={round.question} isBusy={chat.isRunning} onAsk={(text) => chat.ask(text, index)} />
      <div class={`sides sides-${round.columns.length}`}>
        {round.columns.map((replies, column) => {
          const model = models[column] ?? "removed model";
          return (
            <section key={column} class="side" aria-label={`Answer ${column + 1} to question ${index + 1}`}>
              {round.columns.length > 1 && <h2>{model}</h2>}
              {replies.map((reply, place) => {
                const isNewest = isLast && place === replies.length - 1 && reply.kind !== "running";
                return (
                  <ReplyView
                    key={place}
                    hone={hone}
                    reply={reply}
                    model={model}
                    showsTokens={showsTokens}
                    onRegenerate={isNewest ? () => chat.regenerate(column) : null}
                    onResults={
                      isNewest && reply.answer.toolCalls.length > 0
                        ? (results) => chat.answerCalls(column, results)
                        : null
                    }
                  />
                );
              })}
              <Judgement hone={hone} reply={replies.at(-1)} model={model} entity={entity} />
            </section>
          );
        })}
      </div>
      <AnswerDiff
        texts={round.columns.map((replies) => replies.at(-1)?.answer.text ?? "")}
        isHidden={round.columns.some((replies) => replies.at(-1)?.kind === "running")}
      />
    </article>
  );
}

function Question({
  text,
  isBusy,
  onAsk,
}: {
  readonly text: string;
  readonly isBusy: boolean;
  readonly onAsk: (text: string) => void;
}) {
  const [edited, setEdited] = useState<string | null>(null);
  if (edited === null)
    return (
      <div class="question">
        <div class="said" dir="auto">
          {text}
        </div>
        <button type="button" class="plain" disabled={isBusy} onClick={() => setEdited(text)}>
          Edit
        </button>
      </div>
    );
  return (
    <form
      class="question"
      onKeyDown={(event) => {
        if (event.key === "Escape") setEdited(null);
        askOnEnter(event, event.currentTarget);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        setEdited(null);
        onAsk(edited);
      }}
    >
      <label class="wide">
        Question
        <textarea
          rows={3}
          dir="auto"
          required
          value={edited}
          onInput={(event) => setEdited(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Ask again from here</button>
      <button type="button" class="plain" onClick={() => setEdited(null)}>
        Cancel
      </button>
    </form>
  );
}

/** Feedback on an answer. Answers that an older release wrote into the page's address get none, as they lack ids. */
function Judgement({
  hone,
  reply,
  model,
  entity,
}: {
  readonly hone: Hone;
  readonly reply: Reply | undefined;
  readonly model: string;
  readonly entity: string | null;
}) {
  const id = reply?.kind === "running" ? null : (reply?.answer.id ?? null);
  if (id === null || entity === null || !may("judge")) return null;
  return (
    <details>
      <summary>Feedback on this answer</summary>
      <FeedbackPanel
        hone={hone}
        subject={answerOf(model, id, entity)}
        hasKeys={false}
        label={`Feedback on ${model}`}
      />
    </details>
  );
}
