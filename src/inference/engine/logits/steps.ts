// What is done to a row of scores until its token is chosen, in this order: what may not come is forbidden, scores are
// shifted, and of what is left one token is drawn. A step is left out where a request asks nothing of it. Raw
// log-probabilities are those before the first.
import type { DrawInput, DrawRules } from "./draw-input.ts";
import { drawnPlace, type LogitsRow } from "./logits-row.ts";
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
  /** Changes its first parameter, and nothing else. */
  readonly apply: (...parameters: Parameters) => void;
}

/** They begin with the set of all tokens. */
export const forbiddingSteps: readonly Step<[allowed: TokenSet, input: DrawInput]>[] = [
  { name: "constraint", isNeeded: ({ isConstrained }) => isConstrained, apply: keepToConstraint },
  { name: "allowed ids", isNeeded: ({ allowedIds }) => allowedIds !== null, apply: keepAllowedIds },
  { name: "bad words", isNeeded: ({ sampling }) => sampling.badWords.length > 0, apply: forbidBadWords },
  {
    name: "min tokens",
    isNeeded: ({ minTokens, stopTokenIds }) => minTokens > 0 && stopTokenIds.size > 0,
    apply: holdBackEnd,
  },
];

/** On scores of the whole vocabulary, where what may not come is negative infinity. */
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

/** On scores of tokens that may come. */
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

/** Draws among what is left, where nothing was drawn yet. */
function draw(row: LogitsRow): void {
  if (row.chosenId >= 0) return;
  const place = drawnPlace(row);
  if (place >= 0) row.chosenId = row.idAt(place);
}

/** Whether a request draws from the scores as the model gives them. */
export function drawsFromRawScores(rules: DrawRules): boolean {
  return [...forbiddingSteps, ...shiftingSteps].every(({ isNeeded }) => !isNeeded(rules));
}

/** Removes tokens less probable than this part of the most probable one. By scores: log(p) is at most so far below. */
function keepMinP(row: LogitsRow): void {
  row.narrow(row.max + row.temperature * Math.log(row.options.sampling.minP));
}

// The steps that say which tokens may come at all. Each leaves less in the set; none looks at scores.

/** What continues the constraint, and where the answer may end also what ends it. */
function keepToConstraint(allowed: TokenSet, { mask, rules }: DrawInput): void {
  if (mask === null) return;
  allowed.assign(mask.allowed);
  if (mask.mayEnd) for (const id of rules.stopTokenIds) allowed.add(id);
}

function keepAllowedIds(allowed: TokenSet, { rules }: DrawInput): void {
  if (rules.allowedIds !== null) allowed.intersect(rules.allowedIds);
}

/** Forbids the last token of each word whose other tokens the answer ends with; the prompt is not looked at. */
function forbidBadWords(allowed: TokenSet, { rules, history }: DrawInput): void {
  for (const word of rules.sampling.badWords) {
    const lastPlace = word.length - 1;
    if (endsWith(history.answerIds, word, lastPlace)) allowed.delete(word[lastPlace]);
  }
}

/** Whether the answer ends with the first `count` tokens of a word. */
function endsWith(answerIds: readonly number[], word: readonly number[], count: number): boolean {
  const start = answerIds.length - count;
  if (start < 0) return false;
  for (let place = count - 1; place >= 0; place--) {
    if (answerIds[start + place] !== word[place]) return false;
  }
  return true;
}

/**
 * Forbids what ends the answer while it is too short, unless nothing else may come: an answer that is complete under its
 * constraint ends, however short it is.
 */
function holdBackEnd(allowed: TokenSet, { rules, history }: DrawInput): void {
  if (history.answerIds.length >= rules.minTokens) return;
  const ends = [...rules.stopTokenIds].filter((id) => allowed.has(id));
  for (const id of ends) allowed.delete(id);
  if (allowed.isEmpty) for (const id of ends) allowed.add(id);
}
