// Converts the tokens of a prompt to the form of an answer's tokens, each with the text that it adds.
import type { ChatLogprob, ChatOutput } from "../../../base/domain/chat.ts";
import { createDetokenizer } from "../../../lib/tokenizer/detokenizer.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/**
 * Returns an entry for each token. A token that is not part of the text has a name but no bytes, so that the joined
 * bytes of all tokens equal the text.
 */
export function namedTokens(
  tokenIds: readonly number[],
  tokenizer: Tokenizer,
  { skipSpecialTokens }: Pick<ChatOutput, "skipSpecialTokens">,
): readonly Pick<ChatLogprob, "tokenId" | "text" | "bytes">[] {
  const isHidden = (id: number): boolean => skipSpecialTokens && tokenizer.isSpecial(id);
  const detokenizer = createDetokenizer(tokenizer, { isHidden });
  return tokenIds.map((tokenId, index) => {
    const isLast = index === tokenIds.length - 1;
    const shown = detokenizer.push(tokenId) + (isLast ? detokenizer.flush() : "");
    const text = isHidden(tokenId) ? tokenizer.tokenText(tokenId) : shown;
    return { tokenId, text, bytes: [...Buffer.from(shown)] };
  });
}
