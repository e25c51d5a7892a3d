// Chat request bodies with every sampling and stopping option that does not change an answer's length. Constraints,
// beam search and similar options have their own benchmarks.

/** Returns consecutive token ids that exist in both models' vocabularies. */
const ids = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

type Body = Readonly<Record<string, unknown>>;

/**
 * Returns all sampling and stopping options, with values that never stop an answer early.
 *
 * @param allowedCount number of tokens that may be sampled
 */
export function samplingOptions({
  allowedCount,
  maxTokens,
}: {
  readonly allowedCount: number;
  readonly maxTokens: number;
}): Body {
  return {
    top_p: 0.95,
    top_k: 200,
    min_p: 0.001,
    repetition_penalty: 1.1,
    frequency_penalty: 0.1,
    presence_penalty: 0.1,
    logit_bias: Object.fromEntries(ids(300, 100).map((id) => [id, 1])),
    bad_words: ["yes", "no", "never", "hardly ever", "the house"],
    stop: ["never here", "nor there"],
    stop_token_ids: [2],
    ignore_eos: true,
    allowed_token_ids: ids(3, allowedCount),
    min_tokens: maxTokens,
  };
}

export const logprobOptions: Body = { logprobs: true, top_logprobs: 5, return_token_ids: true };
