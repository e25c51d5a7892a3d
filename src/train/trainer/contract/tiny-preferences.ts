// Preferences for the contract's tiny model: pairs of answers to four prompts, of several lengths, and the same answers one by
// one, as KTO takes them. Who compares them with a reference adds its log-probabilities.
import { seededRandom } from "../../../base/domain/random.ts";
import type { TrainingSequence } from "../trainer.ts";
import { tinyConfig } from "./tiny-model.ts";

/** Of each pair: the tokens of the prompt, of the chosen answer and of the rejected one. */
const lengths = [
  [4, 3, 5],
  [3, 5, 2],
  [5, 1, 4],
  [2, 4, 4],
] as const;

/** A chosen and a rejected answer of each, one behind another. */
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

/** Each answer by itself, in an order in which no neighbours are to one prompt. */
export function tinyJudgedAnswers(): readonly TrainingSequence[] {
  const pairs = tinyPairs();
  const ofSide = (first: number): readonly TrainingSequence[] =>
    [0, 1, 2, 3].map((pair) => pairs[2 * pair + ((pair + first) % 2)]);
  return [...ofSide(0), ...ofSide(1)].map((sequence, index) => ({
    ...sequence,
    preference: { index, isChosen: sequence.preference?.isChosen === true },
  }));
}
