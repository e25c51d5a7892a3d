// What of a job's trajectories can train: sequences with advantages and weights, and the counts of all that cannot.
// Pure; the same trajectories always give the same data.
import type { JobCounts } from "../domain/job.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import type { Trajectory, TrajectoryGroup } from "../domain/trajectory.ts";
import {
  type ConversationTokenizer,
  type TokenSequence,
  trainedIndices,
  trajectorySequences,
} from "../trajectories/sequences.ts";
import { groupAdvantages, weighSequences } from "./advantage.ts";
import type { TrainingSequence } from "./trainer.ts";

export interface TrainingData {
  /** In the order of the trajectories. */
  readonly sequences: readonly TrainingSequence[];
  readonly counts: JobCounts;
}

/** A sequence before the job's common scale is known. */
interface Candidate {
  readonly sequence: TokenSequence;
  readonly group: number;
  readonly advantage: number;
  readonly trainableTokenCount: number;
  readonly trajectoryTokenCount: number;
}

/** Counts by reason: trajectories, but for `too_long`, which counts sequences. */
type Skipped = Record<string, number>;

/**
 * Turns groups, one in memory at a time, into weighted sequences. A trajectory without advantage is left out, since
 * it would train nothing; a sequence longer than `sequenceLengthMax` is left out whole, never cut.
 *
 * @throws ServiceError `invalid` naming the trajectory whose record contradicts itself or belongs to another model
 */
export async function prepareTrainingData(
  groups: AsyncIterable<TrajectoryGroup> | Iterable<TrajectoryGroup>,
  config: TrainingConfig,
  model: { readonly tokenizer: ConversationTokenizer; readonly sequenceLengthMax: number },
): Promise<TrainingData> {
  const skipped: Skipped = {};
  const candidates: Candidate[] = [];
  let groupCount = 0;
  let trajectoryCount = 0;
  for await (const group of groups) {
    for (const candidate of groupCandidates(group, groupCount, { config, model, skipped }))
      candidates.push(candidate);
    groupCount += 1;
    trajectoryCount += group.trajectories.length;
  }
  const weightings = weighSequences(candidates, config);
  const sequences = candidates.map(({ sequence, group }, index) => ({
    ...sequence,
    ...weightings[index],
    group,
  }));
  return {
    sequences,
    counts: {
      groupsSubmitted: groupCount,
      groupsTrainable: new Set(candidates.map((candidate) => candidate.group)).size,
      trajectories: trajectoryCount,
      sequences: sequences.length,
      trainableTokens: candidates.reduce((count, candidate) => count + candidate.trainableTokenCount, 0),
      skipped,
    },
  };
}

function groupCandidates(
  group: TrajectoryGroup,
  groupIndex: number,
  context: {
    readonly config: TrainingConfig;
    readonly model: { readonly tokenizer: ConversationTokenizer; readonly sequenceLengthMax: number };
    readonly skipped: Skipped;
  },
): Candidate[] {
  const { config, model, skipped } = context;
  const rewards = group.trajectories.map((trajectory) => trajectory.reward);
  const advantages = groupAdvantages(rewards, config);
  return group.trajectories.flatMap((trajectory, index) => {
    if (advantages[index] === 0) {
      count(skipped, "zero_variance");
      return [];
    }
    const place = `trajectory_groups.${groupIndex}.trajectories.${index}`;
    const sequences = readSequences(trajectory, { tokenizer: model.tokenizer, place, skipped });
    const fitting = sequences.filter(({ tokenIds }) => tokenIds.length <= model.sequenceLengthMax);
    count(skipped, "too_long", sequences.length - fitting.length);
    // Also of the sequences that are left out: what the others count for does not depend on the limit.
    const trajectoryTokenCount = sequences.reduce(
      (sum, sequence) => sum + trainedIndices(sequence).length,
      0,
    );
    return fitting.map((sequence) => ({
      sequence,
      group: groupIndex,
      advantage: advantages[index],
      trainableTokenCount: trainedIndices(sequence).length,
      trajectoryTokenCount,
    }));
  });
}

function readSequences(
  trajectory: Trajectory,
  context: { readonly tokenizer: ConversationTokenizer; readonly place: string; readonly skipped: Skipped },
): readonly TokenSequence[] {
  try {
    const result = trajectorySequences(trajectory, context.tokenizer);
    if ("sequences" in result) return result.sequences;
    count(context.skipped, result.skipped);
    return [];
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    throw new ServiceError({ code: cause.code, message: `${context.place}: ${cause.message}`, cause });
  }
}

function count(skipped: Skipped, reason: string, by = 1): void {
  if (by > 0) skipped[reason] = (skipped[reason] ?? 0) + by;
}
