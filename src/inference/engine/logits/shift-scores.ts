// The steps that change logits before the temperature is applied: logit bias, the operator's processors and the
// penalties. Bias and penalties touch only the tokens that they affect, not the whole vocabulary. A logit of negative
// infinity stays negative infinity.
import type { DrawInput } from "./draw-input.ts";

export function addBias(scores_V: Float32Array, { rules }: DrawInput): void {
  for (const [id, bias] of rules.sampling.logitBias) scores_V[id] += bias;
}

export function applyProcessors(scores_V: Float32Array, { processors, history }: DrawInput): void {
  for (const processor of processors) processor.apply(scores_V, history);
}

/** Penalizes every token that occurs in the prompt or the answer, regardless of how often it occurs. */
export function penalizeRepetition(scores_V: Float32Array, { rules, history }: DrawInput): void {
  const { repetitionPenalty } = rules.sampling;
  const { distinct } = history.prompt;
  for (const id of distinct) scores_V[id] = repeated(scores_V[id], repetitionPenalty);
  for (const id of history.answerCounts.keys()) {
    if (!distinct.has(id)) scores_V[id] = repeated(scores_V[id], repetitionPenalty);
  }
}

const scoreMax = 3.4028234663852886e38;

/**
 * Lowers a logit if the penalty is above 1. The result remains a finite float32, so that possible tokens stay
 * possible.
 */
function repeated(score: number, penalty: number): number {
  if (score === -Infinity) return score;
  const shifted = score > 0 ? score / penalty : score * penalty;
  return Math.max(-scoreMax, Math.min(scoreMax, shifted));
}

export function penalizeFrequency(scores_V: Float32Array, { rules, history }: DrawInput): void {
  const { frequencyPenalty } = rules.sampling;
  for (const [id, count] of history.answerCounts) scores_V[id] -= frequencyPenalty * count;
}

export function penalizePresence(scores_V: Float32Array, { rules, history }: DrawInput): void {
  const { presencePenalty } = rules.sampling;
  for (const id of history.answerCounts.keys()) scores_V[id] -= presencePenalty;
}
