// Pairs the answers to one prompt by their rewards. Pure.
import { rewardResolution } from "../groups/plan-groups.ts";

/** A preferred answer, and an answer with a lower reward. */
export type AnswerPair<Answer> = readonly [preferred: Answer, other: Answer];

/**
 * Pairs the best answer with the worst, the second best with the second worst, and so on while rewards differ enough.
 * Then pairs each remaining answer with the best, or if their rewards are too close, with the worst. All possible pairs
 * would be too many: a prompt's weight would grow with the square of its number of answers.
 *
 * @param marginMin minimum difference of the rewards in a pair; equal rewards are never paired
 */
export function pairAnswers<Answer extends { readonly reward: number }>(
  answers: readonly Answer[],
  marginMin: number,
): readonly AnswerPair<Answer>[] {
  const sorted = answers.toSorted((one, other) => other.reward - one.reward);
  const areApart = (better: Answer, worse: Answer): boolean => {
    const margin = better.reward - worse.reward;
    return margin > rewardResolution && margin >= marginMin - rewardResolution;
  };
  const pairs: AnswerPair<Answer>[] = [];
  let [best, worst] = [0, sorted.length - 1];
  while (best < worst && areApart(sorted[best], sorted[worst])) pairs.push([sorted[best++], sorted[worst--]]);
  if (pairs.length === 0) return [];
  const [first, last] = pairs[0];
  for (const answer of sorted.slice(best, worst + 1))
    if (areApart(first, answer)) pairs.push([first, answer]);
    else if (areApart(answer, last)) pairs.push([answer, last]);
  return pairs;
}
