// The log-probabilities of a prompt's tokens with what the tokens read. Each text is the token's own: what its bytes come
// to beside others is a matter of answers alone.
import type { ChatPromptLogprob, ChatRankedToken } from "../../domain/chat.ts";
import type { PromptLogprob, RankedToken } from "../../domain/generation.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";

export function withTexts(
  tokens: readonly (PromptLogprob | null)[],
  tokenizer: Tokenizer,
): readonly (ChatPromptLogprob | null)[] {
  const named = ({ id, logprob, rank }: RankedToken): ChatRankedToken => ({
    tokenId: id,
    text: tokenizer.tokenText(id),
    logprob,
    rank,
  });
  return tokens.map((token) => token && { ...named(token), alternatives: token.alternatives.map(named) });
}
