// Computes the log-probabilities of a prompt's tokens from the logits after the preceding tokens: each token's
// log-probability, its rank among all tokens, and the best alternatives. Keeps no row of logits.
import type { PromptLogprob, RankedToken } from "../../../base/domain/generation.ts";
import { exponentials } from "../logits/logits-row.ts";
import { greatest } from "../logits/sampler.ts";
import { brokenModel } from "../../../base/domain/broken-model.ts";

/** Maximum size in bytes of the logits that one step computes for prompts. A single row may be larger. */
const scoreBytesMax = 64 * 1024 * 1024;

/** Returns the maximum number of prompt tokens per step for which log-probabilities are computed. */
export function logprobTokensPerStep(vocabularySize: number): number {
  const bytesPerToken = vocabularySize * Float32Array.BYTES_PER_ELEMENT;
  return Math.max(1, Math.floor(scoreBytesMax / bytesPerToken));
}

/**
 * Scores tokens of a prompt.
 *
 * @param logits_TV raw logits; row i predicts the i-th token. Not modified; may have more rows
 * @param tokenIds tokens of the prompt
 * @throws ServiceError {@link brokenModel} if logits are not finite numbers
 */
export function scoreTokens(
  logits_TV: Float32Array,
  tokenIds: readonly number[],
  options: { readonly vocabularySize: number; readonly alternativeCount: number },
): readonly PromptLogprob[] {
  const { vocabularySize, alternativeCount } = options;
  const weights_V = new Float64Array(vocabularySize);
  return tokenIds.map((id, row) => {
    const logits_V = logits_TV.subarray(row * vocabularySize, (row + 1) * vocabularySize);
    return scoreToken(logits_V, id, { alternativeCount, weights_V });
  });
}

function scoreToken(
  logits_V: Float32Array,
  id: number,
  options: { readonly alternativeCount: number; readonly weights_V: Float64Array },
): PromptLogprob {
  const best = greatest(logits_V, Math.max(1, options.alternativeCount));
  const max = logits_V[best[0]];
  const total = exponentials(options.weights_V, logits_V, { max, temperature: 1 });
  if (!Number.isFinite(max) || Number.isNaN(total)) throw brokenModel();
  const logTotal = max + Math.log(total);
  const own = logits_V[id];
  const least = logits_V[best[best.length - 1]];
  const [ownRank, leastRank] = countsFrom(logits_V, own, least);
  const rankOf = (logit: number): number =>
    logit > least ? best.findLastIndex((one) => logits_V[one] === logit) + 1 : leastRank;
  const alternatives = best
    .slice(0, options.alternativeCount)
    .map((one): RankedToken => ({ id: one, logprob: logits_V[one] - logTotal, rank: rankOf(logits_V[one]) }));
  return { id, logprob: own - logTotal, rank: ownRank, alternatives };
}

/** Returns how many logits are at least as great as each of two thresholds. */
function countsFrom(
  logits_V: Float32Array,
  one: number,
  other: number,
): readonly [oneCount: number, otherCount: number] {
  let oneCount = 0;
  let otherCount = 0;
  for (let id = 0; id < logits_V.length; id++) {
    if (logits_V[id] >= one) oneCount += 1;
    if (logits_V[id] >= other) otherCount += 1;
  }
  return [oneCount, otherCount];
}
