// A sequence of a job as its plan knows it: how much it counts for and how long it is, while its tokens are on disk. Plans
// hold these of all of a job, and trainers get tokens of what they compute.
import type { StoredSequence, TokenFile } from "../prepared/token-file.ts";
import type { TrainingSequence } from "../trainer.ts";

export interface PlannedSequence
  extends StoredSequence, Pick<TrainingSequence, "advantage" | "weight" | "group" | "preference"> {}

/** Those of one optimizer step. */
export type PlannedBatch = readonly PlannedSequence[];

/** The same with their tokens. */
export function readBatch(file: Pick<TokenFile, "read">, batch: PlannedBatch): readonly TrainingSequence[] {
  return batch.map((sequence) => {
    const { advantage, weight, group, preference } = sequence;
    return { ...file.read(sequence), advantage, weight, group, ...(preference && { preference }) };
  });
}
