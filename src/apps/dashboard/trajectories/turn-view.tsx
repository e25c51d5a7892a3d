// Shows a turn of a conversation: its role, its text, and its tool calls.
import type { Branch, ToolCall, Turn } from "./turns.ts";
import { TokenText } from "./token-text.tsx";

/** Maximum number of characters that are shown of a text before the user asks for the rest. */
const textLengthMax = 20_000;

/** Shows the turns of a conversation, and the names of its tools. */
export function TurnList({ turns, toolNames }: Pick<Branch, "turns" | "toolNames">) {
  return (
    <>
      {toolNames.length > 0 && (
        <p class="muted">
          Tools: <code>{toolNames.join(", ")}</code>
        </p>
      )}
      {turns.map((turn, index) => (
        <TurnView key={index} turn={turn} index={index} />
      ))}
    </>
  );
}

function TurnView({ turn, index }: { readonly turn: Turn; readonly index: number }) {
  const { role, isReply, text, thoughts, toolCalls, toolCallId, finishReason, tokens } = turn;
  const name = isReply ? `${role}, as the model answered` : role;
  return (
    <article
      class={isReply ? "turn reply" : "turn"}
      tabIndex={-1}
      data-row
      aria-label={`${index + 1}. ${name}`}
    >
      <header>
        <h3>
          <span class="muted">{index + 1}</span> {role}
        </h3>
        {toolCallId !== null && <span class="muted">result of {toolCallId}</span>}
        {finishReason !== null && <span class="muted">ended: {finishReason}</span>}
      </header>
      {thoughts !== null && (
        <details>
          <summary>Thoughts</summary>
          <LongText text={thoughts} />
        </details>
      )}
      {tokens === null ? (
        text !== "" && <LongText text={text} />
      ) : (
        <TokenText tokens={tokens} label={`Tokens of turn ${index + 1}`} />
      )}
      {toolCalls.map((call, place) => (
        <CallView key={place} call={call} />
      ))}
    </article>
  );
}

function CallView({ call }: { readonly call: ToolCall }) {
  return (
    <div class="tool-call">
      <p>
        calls <code>{call.name}</code>
        {call.id !== null && <span class="muted"> {call.id}</span>}
      </p>
      <LongText text={call.argumentsText} isCode />
    </div>
  );
}

function LongText({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }) {
  const [first, rest] = [text.slice(0, textLengthMax), text.slice(textLengthMax)];
  return (
    <>
      <div class={isCode ? "said code" : "said"}>{first}</div>
      {rest !== "" && (
        <details>
          <summary>{rest.length} characters more</summary>
          <div class={isCode ? "said code" : "said"}>{rest}</div>
        </details>
      )}
    </>
  );
}
