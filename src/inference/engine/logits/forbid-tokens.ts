// The steps that say which tokens may come at all. Each leaves less in the set; none looks at scores.
import type { DrawInput } from "./draw-input.ts";
import type { TokenSet } from "./token-set.ts";

/** What continues the constraint, and where the answer may end also what ends it. */
export function keepToConstraint(allowed: TokenSet, { mask, rules }: DrawInput): void {
  if (mask === null) return;
  allowed.assign(mask.allowed);
  if (mask.mayEnd) for (const id of rules.stopTokenIds) allowed.add(id);
}

export function keepAllowedIds(allowed: TokenSet, { rules }: DrawInput): void {
  if (rules.allowedIds !== null) allowed.intersect(rules.allowedIds);
}

/** Forbids the last token of each word whose other tokens the answer ends with; the prompt is not looked at. */
export function forbidBadWords(allowed: TokenSet, { rules, history }: DrawInput): void {
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
export function holdBackEnd(allowed: TokenSet, { rules, history }: DrawInput): void {
  if (history.answerIds.length >= rules.minTokens) return;
  const ends = [...rules.stopTokenIds].filter((id) => allowed.has(id));
  for (const id of ends) allowed.delete(id);
  if (allowed.isEmpty) for (const id of ends) allowed.add(id);
}
