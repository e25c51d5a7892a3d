// One side of a comparison: a streamed answer, its speed, and feedback on it.
import type { Hone } from "../../client/hone.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import type { Subject } from "../feedback/references.ts";
import { TokenText } from "../trajectories/token-text.tsx";
import type { AnswerState } from "./stream-answer.ts";
import type { SideState } from "./use-answers.ts";

export function AnswerSide({
  hone,
  name,
  model,
  state,
  subject,
}: {
  readonly hone: Hone;
  readonly name: string;
  readonly model: string;
  readonly state: SideState;
  /** Subject of feedback on the answer; null until the answer has ended. */
  readonly subject: Subject | null;
}) {
  return (
    <section class="side" aria-label={name} aria-busy={state.kind === "running"}>
      <h2>{model}</h2>
      {state.kind === "empty" ? (
        <p class="muted">No answer yet.</p>
      ) : (
        <>
          {state.answer.thoughts !== "" && (
            <details>
              <summary>Thoughts</summary>
              <div class="said">{state.answer.thoughts}</div>
            </details>
          )}
          {state.answer.tokens.length > 0 ? (
            <TokenText tokens={state.answer.tokens} label={`Tokens of ${model}`} />
          ) : (
            <div class="said">{state.answer.text}</div>
          )}
          <p class={state.kind === "failed" ? "failure" : "muted"} role="status">
            {state.kind === "failed" ? state.message : figuresOf(state.answer, state.kind)}
          </p>
        </>
      )}
      {subject !== null && (
        <details>
          <summary>Feedback on this answer</summary>
          <FeedbackPanel hone={hone} subject={subject} hasKeys={false} label={`Feedback on ${model}`} />
        </details>
      )}
    </section>
  );
}

function figuresOf(answer: AnswerState, kind: "running" | "ended" | "stopped"): string {
  const { tokens, firstTokenMs, totalMs, finishReason } = answer;
  const generatingMs = totalMs === null || firstTokenMs === null ? 0 : totalMs - firstTokenMs;
  const figures = [
    kind === "running" ? "answering" : kind === "stopped" ? "stopped" : `ended: ${finishReason ?? "early"}`,
  ];
  if (firstTokenMs !== null) figures.push(`first token after ${Math.round(firstTokenMs)} ms`);
  if (generatingMs > 0 && tokens.length > 1)
    figures.push(`${Math.round(((tokens.length - 1) / generatingMs) * 1000)} tokens/s`);
  return figures.join(" · ");
}
