// An answer of a model: thoughts, text or tokens, called tools, speed, and buttons to copy it or to ask again.
import type { Hone } from "../../client/hone.ts";
import { TokenText } from "../trajectories/token-text.tsx";
import { CopyButton } from "./copy-button.tsx";
import { CodeText } from "../components/errors/code-text.tsx";
import type { Reply } from "./conversation.ts";
import { Markdown } from "./markdown.tsx";
import { RecordedTokens } from "./recorded-tokens.tsx";
import type { AnswerState } from "./stream-answer.ts";

export function ReplyView({
  hone,
  reply: { kind, answer, failure, results },
  model,
  showsTokens,
  onRegenerate,
  onResults,
}: {
  readonly hone: Hone;
  readonly reply: Reply;
  readonly model: string;
  readonly showsTokens: boolean;
  /** Asks again; null if a later answer or question follows. */
  readonly onRegenerate: (() => void) | null;
  /** Called with the results of the tools that the answer calls; null if they cannot be given now. */
  readonly onResults: ((results: Readonly<Record<string, string>>) => void) | null;
}) {
  const { thoughts, text, tokens, toolCalls } = answer;
  return (
    <div class="reply-body" aria-busy={kind === "running"}>
      {thoughts !== "" && (
        <details>
          <summary>Thoughts</summary>
          <div class="said" dir="auto">
            {thoughts}
          </div>
        </details>
      )}
      {showsTokens && tokens.length > 0 ? (
        <TokenText tokens={tokens} label={`Tokens of ${model}`} />
      ) : showsTokens && kind === "ended" && answer.id !== null && text !== "" ? (
        <RecordedTokens hone={hone} id={answer.id} text={text} label={`Tokens of ${model}`} />
      ) : (
        <Markdown text={text} />
      )}
      {toolCalls.length > 0 && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const data = new FormData(event.currentTarget);
            const resultOf = (id: string): string => {
              const value = data.get(id);
              return typeof value === "string" ? value : "";
            };
            onResults?.(Object.fromEntries(toolCalls.map(({ id }) => [id, resultOf(id)])));
          }}
        >
          {toolCalls.map(({ id, name, arguments: given }) => (
            <div key={id} class="tool-call">
              <p>
                calls <code>{name}</code>
              </p>
              <div class="said code">{given}</div>
              {onResults === null ? (
                results[id] !== undefined && <div class="said code">{results[id]}</div>
              ) : (
                <label class="wide">
                  Result of {name}
                  <textarea name={id} rows={2} />
                </label>
              )}
            </div>
          ))}
          {onResults !== null && <button type="submit">Send results</button>}
        </form>
      )}
      <p class={kind === "failed" ? "failure" : "muted"} role="status">
        {kind === "failed" ? <CodeText of={failure ?? ""} /> : figuresOf(answer, kind)}
      </p>
      {kind !== "running" && (
        <p class="links">
          {text !== "" && <CopyButton text={text} label="Copy" />}
          {onRegenerate !== null && (
            <button type="button" class="plain" onClick={onRegenerate}>
              Regenerate
            </button>
          )}
        </p>
      )}
    </div>
  );
}

/** Describes how an answer ended, and its speed; empty for an answer that was read from the page's address. */
function figuresOf(answer: AnswerState, kind: Reply["kind"]): string {
  const { tokens, firstTokenMs, totalMs, finishReason } = answer;
  if (kind === "ended" && totalMs === null) return "";
  const generatingMs = totalMs === null || firstTokenMs === null ? 0 : totalMs - firstTokenMs;
  const figures = [
    kind === "running" ? "answering" : kind === "stopped" ? "stopped" : `ended: ${finishReason ?? "early"}`,
  ];
  if (firstTokenMs !== null) figures.push(`first token after ${Math.round(firstTokenMs)} ms`);
  if (generatingMs > 0 && tokens.length > 1)
    figures.push(`${Math.round(((tokens.length - 1) / generatingMs) * 1000)} tokens/s`);
  return figures.join(" · ");
}
