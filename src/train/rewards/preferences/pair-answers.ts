// Which answers to one prompt are compared with which, by their rewards. Pure.
import { rewardResolution } from "../groups/plan-groups.ts";

/** An answer that people preferred, and one that they did not. */
export type AnswerPair<Answer> = readonly [preferred: Answer, other: Answer];

/**
 * The best with the worst, the second best with the second worst, and so on as long as they differ; those that are left between
 * go with the best, or where that is too near with the worst. So every answer is in a pair that can be in one, and in no more
 * than are needed for that: a pair of each two would have prompts count by the square of their answers.
 *
 * @param marginMin by how much the rewards of a pair differ at least; however small, equal ones never are a pair
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
