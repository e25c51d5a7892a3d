// The tokens of an earlier answer as the beginning of the next prompt. A text can be tokenized in several ways: tokenized
// anew, an answer may become other tokens than the model sampled, and what follows then continues a conversation that the
// model never had. Pure.
import type { Json } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";

/**
 * Takes the tokens off the messages, which templates do not know.
 *
 * @returns the tokens of the last answer that carries its own and its prompt's; null where none does
 */
export function withoutSampled(messages: readonly MessageRecord[]): {
  readonly messages: readonly MessageRecord[];
  readonly sampled: readonly number[] | null;
} {
  let sampled: readonly number[] | null = null;
  const plain = messages.map((message): MessageRecord => {
    const { token_ids: own, prompt_token_ids: prompt, ...rest } = message;
    if (own === undefined && prompt === undefined) return message;
    if (message.role === "assistant" && isIdList(own) && isIdList(prompt)) sampled = [...prompt, ...own];
    return { ...rest, role: message.role };
  });
  return { messages: plain, sampled };
}

/**
 * Returns the tokens of a rendered prompt that begins with sampled ones.
 *
 * @returns null where the prompt does not begin with the text of those tokens: the template drops something, or a message
 *   was changed
 */
export function behindSampled(
  tokenizer: Pick<Tokenizer, "decode" | "encode" | "vocabularySize">,
  text: string,
  sampled: readonly number[],
): readonly number[] | null {
  if (sampled.some((id) => id >= tokenizer.vocabularySize)) return null;
  const textOf = (ids: readonly number[]): string => tokenizer.decode(ids, { skipSpecialTokens: false });
  const before = textOf(sampled);
  if (text.length <= before.length || !text.startsWith(before)) return null;
  const rest = tokenizer.encode(text.slice(before.length), { addSpecialTokens: false });
  const whole = [...sampled, ...rest];
  // A tokenizer may put a blank before a text that begins anew.
  return textOf(whole) === text ? whole : null;
}

function isIdList(value: Json | undefined): value is readonly number[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((id) => Number.isInteger(id) && Number(id) >= 0)
  );
}
