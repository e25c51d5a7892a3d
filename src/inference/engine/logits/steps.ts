// The sampling steps from a row of logits to a token, in this order: forbid tokens, change logits, and draw one of the
// remaining tokens. Steps that a request does not need are skipped. Raw log-probabilities are computed from the logits
// before the first step.
import type { DrawInput, DrawRules } from "./draw-input.ts";
import { drawIndex, type LogitsRow } from "./logits-row.ts";
import {
  addBias,
  applyProcessors,
  penalizeFrequency,
  penalizePresence,
  penalizeRepetition,
} from "./shift-scores.ts";
import type { TokenSet } from "./token-set.ts";
import { keepTopK } from "./top-k.ts";
import { keepTopNSigma } from "./top-n-sigma.ts";
import { drawTopP } from "./top-p.ts";

interface Step<Parameters extends readonly unknown[]> {
  readonly name: string;
  readonly isNeeded: (rules: DrawRules) => boolean;
  /** Applies the step. Changes only its first parameter. */
  readonly apply: (...parameters: Parameters) => void;
}

/**
 * Steps that remove tokens from the set of allowed tokens. The set holds all tokens before the first of these steps.
 */
export const forbiddingSteps: readonly Step<[allowed: TokenSet, input: DrawInput]>[] = [
  { name: "constraint", isNeeded: ({ isConstrained }) => isConstrained, apply: applyConstraint },
  { name: "allowed ids", isNeeded: ({ allowedIds }) => allowedIds !== null, apply: keepAllowedIds },
  { name: "bad words", isNeeded: ({ sampling }) => sampling.badWords.length > 0, apply: forbidBadWords },
  {
    name: "min tokens",
    isNeeded: ({ minTokens, stopTokenIds }) => minTokens > 0 && stopTokenIds.size > 0,
    apply: forbidEarlyEnd,
  },
];

/**
 * Steps that change logits. They get the logits of the whole vocabulary, with negative infinity for forbidden tokens.
 */
export const shiftingSteps: readonly Step<[scores_V: Float32Array, input: DrawInput]>[] = [
  { name: "bias", isNeeded: ({ sampling }) => sampling.logitBias.length > 0, apply: addBias },
  { name: "processors", isNeeded: ({ sampling }) => sampling.processors.length > 0, apply: applyProcessors },
  {
    name: "repetition",
    isNeeded: ({ sampling }) => sampling.repetitionPenalty !== 1,
    apply: penalizeRepetition,
  },
  {
    name: "frequency",
    isNeeded: ({ sampling }) => sampling.frequencyPenalty !== 0,
    apply: penalizeFrequency,
  },
  { name: "presence", isNeeded: ({ sampling }) => sampling.presencePenalty !== 0, apply: penalizePresence },
];

/** Steps that choose among the logits of allowed tokens. */
export const choosingSteps: readonly Step<[row: LogitsRow]>[] = [
  { name: "greedy", isNeeded: isGreedy, apply: (row) => void (row.chosenId = row.greatestId) },
  {
    name: "temperature",
    isNeeded: (rules) => !isGreedy(rules),
    apply: (row) => void (row.temperature = row.options.sampling.temperature),
  },
  {
    name: "top-n-sigma",
    isNeeded: (rules) => !isGreedy(rules) && rules.sampling.topNSigma > 0,
    apply: keepTopNSigma,
  },
  { name: "min-p", isNeeded: (rules) => !isGreedy(rules) && rules.sampling.minP > 0, apply: keepMinP },
  { name: "top-k", isNeeded: (rules) => !isGreedy(rules) && rules.sampling.topK > 0, apply: keepTopK },
  { name: "top-p", isNeeded: (rules) => !isGreedy(rules) && rules.sampling.topP < 1, apply: drawTopP },
  { name: "draw", isNeeded: (rules) => !isGreedy(rules), apply: draw },
];

export function isGreedy({ sampling }: DrawRules): boolean {
  return sampling.temperature === 0;
}

/** Draws one of the remaining tokens unless a token is already chosen. */
function draw(row: LogitsRow): void {
  if (row.chosenId >= 0) return;
  const index = drawIndex(row);
  if (index >= 0) row.chosenId = row.idAt(index);
}

/**
 * True if a request draws from the model's unchanged logits: it needs no step that forbids tokens or changes logits.
 */
export function drawsFromRawScores(rules: DrawRules): boolean {
  return [...forbiddingSteps, ...shiftingSteps].every(({ isNeeded }) => !isNeeded(rules));
}

/**
 * Removes tokens whose probability is below p times the greatest probability. Their logits are lower than the greatest
 * logit by more than −temperature · log(p).
 */
function keepMinP(row: LogitsRow): void {
  row.narrow(row.max + row.temperature * Math.log(row.options.sampling.minP));
}

// Steps that forbid tokens. Each removes tokens from the set without reading logits.

/** Allows only tokens that continue the constraint and, if the answer may end here, tokens that end it. */
function applyConstraint(allowed: TokenSet, { mask, rules }: DrawInput): void {
  if (mask === null) return;
  allowed.assign(mask.allowed);
  if (mask.mayEnd) for (const id of rules.stopTokenIds) allowed.add(id);
}

function keepAllowedIds(allowed: TokenSet, { rules }: DrawInput): void {
  if (rules.allowedIds !== null) allowed.intersect(rules.allowedIds);
}

/** Forbids the last token of each bad word if the answer ends with the word's preceding tokens. Ignores the prompt. */
function forbidBadWords(allowed: TokenSet, { rules, history }: DrawInput): void {
  for (const word of rules.sampling.badWords) {
    const lastIndex = word.length - 1;
    if (endsWith(history.answerIds, word, lastIndex)) allowed.delete(word[lastIndex]);
  }
}

/** True if the answer ends with the first `count` tokens of a word. */
function endsWith(answerIds: readonly number[], word: readonly number[], count: number): boolean {
  const start = answerIds.length - count;
  if (start < 0) return false;
  for (let index = count - 1; index >= 0; index--) {
    if (answerIds[start + index] !== word[index]) return false;
  }
  return true;
}

/**
 * Forbids the stop tokens while the answer is too short. If no other token is allowed, the stop tokens stay allowed: an
 * answer that is complete under its constraint may end at any length.
 */
function forbidEarlyEnd(allowed: TokenSet, { rules, history }: DrawInput): void {
  if (history.answerIds.length >= rules.minTokens) return;
  const ends = [...rules.stopTokenIds].filter((id) => allowed.has(id));
  for (const id of ends) allowed.delete(id);
  if (allowed.isEmpty) for (const id of ends) allowed.add(id);
}
