// The tokens of a prompt with what each adds to its text, as those of an answer are shown.
import type { ChatLogprob, ChatOutput } from "../../../base/domain/chat.ts";
import { createDetokenizer } from "../../../lib/tokenizer/detokenizer.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/** A token that is not part of the text is named, but has no bytes: joined bytes are the text. */
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
