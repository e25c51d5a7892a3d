// Continues a conversation after the exact tokens of an earlier answer, even if the template writes that answer
// differently: with other blanks in the arguments of a tool call, or without an empty thought.
import type { Conversation, SampledTurn } from "../../base/domain/chat.ts";
import { joinedText } from "../../base/domain/content-part.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json } from "../../base/domain/text/json.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { RenderLimitError } from "./prompt-faults.ts";

type Decoding = Pick<Tokenizer, "decode" | "encode">;

/**
 * Returns the tokens of a prompt that begins with the sampled tokens. The template writes the messages after the
 * answer.
 *
 * @param text the conversation, rendered as usual
 * @param render renders another conversation with the same template
 * @returns null if the template drops the answer's thoughts, or writes earlier messages differently because of later
 * ones: the history has then been rewritten
 * @throws RenderLimitError if the template reaches a limit, so that the caller renders again with a higher limit
 */
export function continueTurn(
  tokenizer: Decoding,
  { text, conversation }: { readonly text: string; readonly conversation: Conversation },
  { messageIndex, tokenIds, reasoning }: SampledTurn,
  render: (conversation: Conversation) => string,
): readonly number[] | null {
  const upTo = (count: number): string | null =>
    tryRender(render, {
      ...conversation,
      messages: conversation.messages.slice(0, count),
      addGenerationPrompt: false,
      continueFinalMessage: false,
    });
  const before = messageIndex === 0 ? "" : upTo(messageIndex);
  const answered = upTo(messageIndex + 1);
  if (before === null || answered === null) return null;
  if (!text.startsWith(answered) || !answered.startsWith(before)) return null;
  const answer = answered.slice(before.length);
  if (!answer.includes(reasoning.trim())) return null;
  const closing = closingText(tokenizer, answer, tokenIds, conversation.messages[messageIndex].content);
  const rest = text.slice(answered.length);
  if (closing === null || rest === "") return null;
  const following = tokenizer.encode(closing + rest, { addSpecialTokens: false });
  const whole = [...tokenIds, ...following];
  const textOf = (ids: readonly number[]): string => tokenizer.decode(ids, { skipSpecialTokens: false });
  // The whole texts are compared, because a tokenizer may put a blank before a text that it tokenizes separately.
  return textOf(whole) === textOf(tokenIds) + closing + rest ? whole : null;
}

/** Returns the text that the template writes after the sampled tokens to close the answer; null if it is unknown. */
function closingText(
  tokenizer: Decoding,
  answer: string,
  tokenIds: readonly number[],
  content: Json | undefined,
): string | null {
  const last = tokenIds.slice(-1);
  const end = tokenizer.decode(last, { skipSpecialTokens: false });
  const isEnd = end !== "" && tokenizer.decode(last, { skipSpecialTokens: true }) === "";
  // An answer that was cut off, or that ended with a tool call because of a constraint, has no end token. It is closed
  // after its text, or after the last word of its calls.
  const text = (joinedText(content ?? null) ?? "").trim();
  const said = isEnd ? end : text === "" ? lastWord(tokenizer, tokenIds) : text;
  const at = said === "" ? -1 : answer.lastIndexOf(said);
  return at === -1 ? null : answer.slice(at + said.length);
}

/** Number of tokens among which the last word of an answer is. */
const wordTokensMax = 16;

/** Returns the text after the last blank, such as the end tag of a tool call. */
function lastWord(tokenizer: Decoding, tokenIds: readonly number[]): string {
  const text = tokenizer.decode(tokenIds.slice(-wordTokensMax), { skipSpecialTokens: false });
  return text.trim().split(/\s/).at(-1) ?? "";
}

/**
 * Returns the rendered text; null if the template refuses the conversation. Some templates refuse a conversation that
 * does not end with a user's message.
 */
function tryRender(
  render: (conversation: Conversation) => string,
  conversation: Conversation,
): string | null {
  try {
    return render(conversation);
  } catch (error) {
    if (error instanceof ServiceError && !(error instanceof RenderLimitError)) return null;
    throw error;
  }
}
