// Preferences for the contract's tiny model: pairs of answers to four prompts, of several lengths, and the same
// answers one by one for KTO. Callers that need reference log-probabilities add them.
import { seededRandom } from "../../../base/domain/random.ts";
import type { TrainingSequence } from "../trainer.ts";
import { tinyConfig } from "./tiny-model.ts";

/** Token counts of each pair: prompt, chosen answer, rejected answer. */
const lengths = [
  [4, 3, 5],
  [3, 5, 2],
  [5, 1, 4],
  [2, 4, 4],
] as const;

/** The chosen and the rejected answer of each pair, in order. */
export function tinyPairs(): readonly TrainingSequence[] {
  const random = seededRandom("contract preferences");
  const ids = (count: number): readonly number[] =>
    Array.from({ length: count }, () => random.index(tinyConfig.vocabularySize));
  return lengths.flatMap(([promptLength, ...answerLengths], index) => {
    const prompt = ids(promptLength);
    return answerLengths.map((answerLength, side) => {
      const tokenIds = Int32Array.from([...prompt, ...ids(answerLength)]);
      return {
        tokenIds,
        mask: Uint8Array.from(tokenIds, (_, at) => (at < promptLength ? 0 : 1)),
        oldLogprobs: new Float32Array(tokenIds.length).fill(NaN),
        advantage: 1,
        weight: 1,
        group: index,
        preference: { index, isChosen: side === 0 },
      };
    });
  });
}

/** Single answers, ordered so that neighbours have different prompts. */
export function tinyJudgedAnswers(): readonly TrainingSequence[] {
  const pairs = tinyPairs();
  const ofSide = (first: number): readonly TrainingSequence[] =>
    [0, 1, 2, 3].map((pair) => pairs[2 * pair + ((pair + first) % 2)]);
  return [...ofSide(0), ...ofSide(1)].map((sequence, index) => ({
    ...sequence,
    preference: { index, isChosen: sequence.preference?.isChosen === true },
  }));
}
