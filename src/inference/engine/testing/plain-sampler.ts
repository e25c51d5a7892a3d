// Draws tokens by the definitions of the sampling parameters, counting and sorting everything anew for every token.
// Slow and short, so that its correctness is evident; the engine's sampler is compared with it. Between steps, scores
// are float32 and weights float64.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { type ScoreProcessor, PromptTokens, TokenHistory } from "../logits/draw-input.ts";
import { topPDrawCount } from "../logits/top-p.ts";

/** A choice at the point where its next token is drawn. */
export interface PlainPlace {
  readonly request: Pick<GenerationRequest, "prompt" | "sampling" | "stopping">;
  /** Generated tokens so far. */
  readonly answer: readonly number[];
  /** Tokens that the constraint allows next, and whether the answer may end; null if unconstrained. */
  readonly allowance: PlainAllowance | null;
  /** Logits processors; absent if the request names none. */
  readonly processors?: readonly ScoreProcessor[];
}

export interface PlainAllowance {
  readonly ids: ReadonlySet<number>;
  readonly mayEnd: boolean;
}

/** A token with its weight in the draw, 1 for the most probable one. */
export interface WeightedId {
  readonly id: number;
  readonly weight: number;
}

/**
 * Draws a token. With top-p, first draws from all tokens, a few times at most, until top-p keeps the drawn token. After
 * that, draws only from the tokens that top-p keeps.
 *
 * @param uniform returns the next number of the choice's random stream; not called for a greedy choice
 * @returns the drawn id; null if no token is allowed
 */
export function drawPlainly(
  logits: readonly number[],
  place: PlainPlace,
  uniform: () => number,
): number | null {
  const kept = plainDistribution(logits, place);
  const { temperature, topP } = place.request.sampling;
  if (kept.length === 0 || temperature === 0) return kept[0]?.id ?? null;
  if (topP === 1) return pick(kept, uniform());
  const all = plainDistribution(logits, withoutTopP(place));
  for (let draw = 0; draw < topPDrawCount; draw++) {
    const id = pick(all, uniform());
    if (kept.some((one) => one.id === id)) return id;
  }
  return pick(kept, uniform());
}

function withoutTopP(place: PlainPlace): PlainPlace {
  const { request } = place;
  return { ...place, request: { ...request, sampling: { ...request.sampling, topP: 1 } } };
}

/**
 * Returns the token at which the running sum of weights exceeds a share of their total.
 *
 * @param part share of the total weight, in [0, 1)
 */
function pick(weighed: readonly WeightedId[], part: number): number | null {
  let left = part * sumOf(weighed);
  for (const { id, weight } of weighed) {
    left -= weight;
    if (left < 0) return id;
  }
  return weighed.findLast(({ weight }) => weight > 0)?.id ?? null;
}

/**
 * Returns the tokens that may be drawn, with their weights, in the order of the ids. A greedy choice has exactly one
 * such token. If no token is allowed, there is none.
 */
export function plainDistribution(logits: readonly number[], place: PlainPlace): readonly WeightedId[] {
  const allowed = new Set(allowedIds(logits, place));
  const scores = shiftedScores(
    logits.map((logit, id) => (allowed.has(id) ? logit : -Infinity)),
    place,
  );
  const ranked = rankedIds(scores).filter((id) => allowed.has(id) && scores[id] > -Infinity);
  const { temperature } = place.request.sampling;
  if (temperature === 0) return ranked.slice(0, 1).map((id) => ({ id, weight: 1 }));
  return inOrder(weightedIds(scores, ranked, place.request.sampling));
}

/** Returns the ids that are allowed by the constraint, the allowed ids, the bad words and the minimum length. */
function allowedIds(
  logits: readonly number[],
  { request, answer, allowance }: PlainPlace,
): readonly number[] {
  const { badWords, allowedTokenIds } = request.sampling;
  const { stopTokenIds, minTokens } = request.stopping;
  const endings = badWords.filter((word) => isTail(word.slice(0, -1), answer)).map((word) => word.at(-1));
  const isEnd = (id: number): boolean => stopTokenIds.includes(id);
  const follows = (id: number): boolean =>
    allowance === null || allowance.ids.has(id) || (allowance.mayEnd && isEnd(id));
  const possible = [...logits.keys()].filter(
    (id) => follows(id) && (allowedTokenIds?.includes(id) ?? true) && !endings.includes(id),
  );
  const others = possible.filter((id) => !isEnd(id));
  return answer.length < minTokens && others.length > 0 ? others : possible;
}

function isTail(beginning: readonly number[], answer: readonly number[]): boolean {
  const skipped = answer.length - beginning.length;
  return skipped >= 0 && beginning.every((id, index) => id === answer[skipped + index]);
}

/** Returns the scores after logit bias, processors and penalties. */
function shiftedScores(
  logits: readonly number[],
  { request, answer, processors = [] }: PlainPlace,
): readonly number[] {
  const { logitBias, repetitionPenalty, frequencyPenalty, presencePenalty } = request.sampling;
  const shifted = Float32Array.from(logits);
  for (const [id, bias] of logitBias) shifted[id] = logits[id] + bias;
  const history = new TokenHistory(new PromptTokens(request.prompt.tokenIds), answer);
  for (const processor of processors) processor.apply(shifted, history);
  const seen = new Set([...request.prompt.tokenIds, ...answer]);
  return Array.from(shifted, (processed, id) => {
    if (!seen.has(id)) return processed;
    const repeated = processed > 0 ? processed / repetitionPenalty : processed * repetitionPenalty;
    let score = Math.fround(
      processed === -Infinity ? processed : Math.min(Math.max(repeated, -float32Max), float32Max),
    );
    const count = answer.filter((other) => other === id).length;
    score = Math.fround(score - frequencyPenalty * count);
    return Math.fround(score - (count > 0 ? presencePenalty : 0));
  });
}

const float32Max = (2 - 2 ** -23) * 2 ** 127;

/** Returns the ids that top-n-sigma, min-p, top-k and top-p keep, with their weights. */
function weightedIds(
  scores: readonly number[],
  ranked: readonly number[],
  { temperature, topNSigma, minP, topK, topP }: GenerationRequest["sampling"],
): readonly WeightedId[] {
  const least =
    topNSigma > 0 ? scores[ranked[0]] - topNSigma * deviationOf(inRising(ranked, scores)) : -Infinity;
  const near = ranked.filter((id) => scores[id] >= least);
  const all = near.map((id) => ({ id, weight: Math.exp((scores[id] - scores[ranked[0]]) / temperature) }));
  const probable = all.filter(({ weight }) => weight >= minP);
  const last = topK > 0 ? probable[topK - 1] : undefined;
  const kept = probable.filter(({ id }) => last === undefined || scores[id] >= scores[last.id]);
  if (topP < 1) {
    let left = (1 - topP) * sumOf(inOrder(kept));
    while (kept.length > 1 && kept[kept.length - 1].weight <= left) left -= kept.pop()?.weight ?? 0;
  }
  return kept;
}

/** Returns the scores of some ids, in the order of the ids. */
function inRising(ids: readonly number[], scores: readonly number[]): readonly number[] {
  return ids.toSorted((a, b) => a - b).map((id) => scores[id]);
}

/** Returns the population standard deviation: the square root of the mean squared distance from the mean. */
function deviationOf(values: readonly number[]): number {
  const meanOf = (some: readonly number[]): number =>
    some.reduce((sum, value) => sum + value, 0) / some.length;
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
}

function inOrder(weighed: readonly WeightedId[]): readonly WeightedId[] {
  return weighed.toSorted((a, b) => a.id - b.id);
}

function sumOf(weighed: readonly WeightedId[]): number {
  return weighed.reduce((sum, { weight }) => sum + weight, 0);
}

/** Returns the natural logarithms of the probabilities of all ids. */
export function plainLogprobs(logits: readonly number[]): readonly number[] {
  const max = Math.max(...logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0);
  return logits.map((logit) => logit - max - Math.log(total));
}

/** Returns all ids, the most probable first; among equal ones, the lower id first. */
export function rankedIds(logits: readonly number[]): number[] {
  return [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
}
