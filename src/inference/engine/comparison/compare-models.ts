// Measures how much two forms of a model's weights differ on given tokens, for example the original and a quantized
// form. Computes the same windows of tokens with both forms, and compares the predicted probabilities.
import type { ModelConfig } from "../../architectures/config.ts";
import type { ModelWeights } from "../../architectures/weights.ts";
import { KvLane, roundUpPositions } from "../cache/kv-lane.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { ModelRunner } from "../model-runner.ts";

export interface ModelComparison {
  /** Number of tokens that were predicted with both forms. */
  readonly tokenCount: number;
  /** Perplexity under each form: exp of the mean of −log p over the tokens. */
  readonly perplexity: { readonly reference: number; readonly other: number };
  /** Kullback–Leibler divergence of the other form's probabilities from the reference's, in nats per token. */
  readonly divergence: { readonly mean: number; readonly max: number };
  /** Share of the tokens for which both forms have the same most probable token. */
  readonly sameGreedyShare: number;
}

/**
 * Number of tokens in a window. Each token is predicted from the preceding tokens of its window. Longer windows hardly
 * change the result, but take more memory for logits.
 */
export const windowTokens = 256;

/**
 * Compares two forms of one model's weights.
 *
 * @param tokenIds tokens to predict; they are split into windows of {@link windowTokens}, which are computed
 * independently
 */
export async function compareModels(
  config: ModelConfig,
  weights: { readonly reference: ModelWeights; readonly other: ModelWeights },
  { tokenIds, threads }: { readonly tokenIds: readonly number[]; readonly threads: number },
): Promise<ModelComparison> {
  const runnerOf = ({ sources, forms }: ModelWeights): Promise<ModelRunner> =>
    createGraphRunner({ config, weights: sources, forms, threads, adapterCountMax: 1 });
  const reference = await runnerOf(weights.reference);
  const other = await runnerOf(weights.other);
  const distances: RowDistance[] = [];
  const size = Math.min(windowTokens, config.contextLength);
  for (let start = 0; start + 1 < tokenIds.length; start += size) {
    const window = tokenIds.slice(start, start + size);
    const [first, second] = [await scoresOf(reference, window), await scoresOf(other, window)];
    for (let index = 0; index + 1 < window.length; index++) {
      const row = ({ logits, width }: Scores): Float32Array =>
        logits.subarray(index * width, (index + 1) * width);
      distances.push(distance(row(first), row(second), window[index + 1]));
    }
  }
  await reference.close();
  await other.close();
  return summary(distances);
}

interface Scores {
  readonly logits: Float32Array;
  readonly width: number;
}

async function scoresOf(runner: ModelRunner, tokenIds: readonly number[]): Promise<Scores> {
  const lane = new KvLane(runner.shape);
  lane.reshape(1, roundUpPositions(tokenIds.length));
  const slot = lane.takeSlot();
  const [logits] = await runner.prefill(lane, null, [{ slot, tokenIds, logits: "all" }]);
  return { logits, width: runner.shape.vocabularySize };
}

function summary(distances: readonly RowDistance[]): ModelComparison {
  const mean = (of: (one: RowDistance) => number): number =>
    distances.reduce((sum, one) => sum + of(one), 0) / distances.length;
  return {
    tokenCount: distances.length,
    perplexity: {
      reference: Math.exp(-mean(({ logprobs }) => logprobs[0])),
      other: Math.exp(-mean(({ logprobs }) => logprobs[1])),
    },
    divergence: {
      mean: mean(({ divergence }) => divergence),
      max: distances.reduce((most, { divergence }) => Math.max(most, divergence), 0),
    },
    sameGreedyShare: mean(({ isSameGreedy }) => (isSameGreedy ? 1 : 0)),
  };
}

interface RowDistance {
  /** Log-probability (natural logarithm) of the actual token in the reference's distribution and in the other one. */
  readonly logprobs: readonly [number, number];
  /** Kullback–Leibler divergence of the other distribution from the reference's, in nats. */
  readonly divergence: number;
  /** True if both distributions have the same most probable token. */
  readonly isSameGreedy: boolean;
}

/**
 * Compares two rows of logits for the same position.
 *
 * @param token the actual next token
 */
export function distance(reference: Float32Array, other: Float32Array, token: number): RowDistance {
  const [first, second] = [normalizerOf(reference), normalizerOf(other)];
  let divergence = 0;
  for (let index = 0; index < reference.length; index++) {
    const logprob = reference[index] - first.logSum;
    divergence += Math.exp(logprob) * (logprob - (other[index] - second.logSum));
  }
  return {
    logprobs: [reference[token] - first.logSum, other[token] - second.logSum],
    // Clamped, because rounding can make the divergence of equal distributions negative.
    divergence: Math.max(0, divergence),
    isSameGreedy: first.greatest === second.greatest,
  };
}

/** Returns log-sum-exp of a row of logits, and the index of the greatest logit. */
function normalizerOf(scores: Float32Array): { readonly logSum: number; readonly greatest: number } {
  let greatest = 0;
  for (let index = 1; index < scores.length; index++) if (scores[index] > scores[greatest]) greatest = index;
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - scores[greatest]);
  return { logSum: scores[greatest] + Math.log(sum), greatest };
}
