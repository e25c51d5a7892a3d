// How a token is drawn, by the definitions: everything is sorted, in float64, for every token anew. Slow and short, so
// that it can be seen to be right; the engine's sampler is held to it.
import type { SamplingParameters } from "../../domain/sampling.ts";

/**
 * @param uniform the next number of the choice's stream; not called where the choice is greedy
 * @returns the id that is drawn
 */
export function drawPlainly(
  logits: readonly number[],
  { temperature, topK, topP }: SamplingParameters,
  uniform: () => number,
): number {
  const ranked = rankedIds(logits);
  if (temperature === 0) return ranked[0];
  const weights = logits.map((logit) => Math.exp((logit - logits[ranked[0]]) / temperature));
  const sumOf = (ids: readonly number[]): number => ids.reduce((sum, id) => sum + weights[id], 0);
  const inOrder = (ids: readonly number[]): number[] => ids.toSorted((a, b) => a - b);

  const isCut = topK > 0 && topK < ranked.length;
  const kept = isCut ? ranked.filter((id) => logits[id] >= logits[ranked[topK - 1]]) : ranked;
  if (topP < 1) {
    let left = (1 - topP) * sumOf(inOrder(kept));
    while (kept.length > 1 && weights[kept[kept.length - 1]] <= left) left -= weights[kept.pop() ?? 0];
  }

  let left = uniform() * sumOf(inOrder(kept));
  for (const id of inOrder(kept)) {
    left -= weights[id];
    if (left < 0) return id;
  }
  return kept[0];
}

/** Natural logarithms of the probabilities of all ids. */
export function plainLogprobs(logits: readonly number[]): readonly number[] {
  const max = Math.max(...logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0);
  return logits.map((logit) => logit - max - Math.log(total));
}

/** All ids, the most probable first, the lower id first among equals. */
export function rankedIds(logits: readonly number[]): number[] {
  return [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
}
