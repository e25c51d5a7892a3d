// Preferences for the trainer contract's tiny model: pairs of answers of different lengths to four prompts. The same
// answers also exist as single answers for KTO. Callers add reference log-probabilities if their loss needs them.
import { seededRandom } from "../../../base/domain/random.ts";
import type { TrainingSequence } from "../trainer.ts";
import { tinyConfig } from "./tiny-model.ts";

/** Token counts of each pair's prompt, chosen answer and rejected answer. */
const lengths = [
  [4, 3, 5],
  [3, 5, 2],
  [5, 1, 4],
  [2, 4, 4],
] as const;

/** Returns the sequences of all pairs: the chosen answer of each pair, followed by the rejected one. */
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

/** Returns the answers of all pairs as single answers, in an order in which neighbours have different prompts. */
export function tinyJudgedAnswers(): readonly TrainingSequence[] {
  const pairs = tinyPairs();
  const ofSide = (first: number): readonly TrainingSequence[] =>
    [0, 1, 2, 3].map((pair) => pairs[2 * pair + ((pair + first) % 2)]);
  return [...ofSide(0), ...ofSide(1)].map((sequence, index) => ({
    ...sequence,
    preference: { index, isChosen: sequence.preference?.isChosen === true },
  }));
}
