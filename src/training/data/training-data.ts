// What of a job's trajectories can train: sequences with advantages and weights, and the counts of all that cannot.
// Pure; the same trajectories always give the same data.
import type { JobCounts } from "../../domain/job.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { TrainingConfig } from "../../domain/training-config.ts";
import type { Trajectory, TrajectoryGroup } from "../../domain/trajectory.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import {
  type RecordedSequence,
  trainedIndices,
  trajectorySequences,
  type TrajectorySequences,
} from "../../trajectories/sequences.ts";
import { groupAdvantages, hasVariance, weighSequences } from "./advantage.ts";
import { oldestVersionOf } from "../metrics/staleness.ts";
import { type Skip, type SkipReason, Skips } from "./skips.ts";
import type { TrainingSequence } from "../trainer.ts";

export interface TrainingData {
  /** In the order of the trajectories. */
  readonly sequences: readonly TrainingSequence[];
  /** Of each sequence. */
  readonly origins: ReadonlyMap<TrainingSequence, SequenceOrigin>;
  readonly counts: JobCounts;
  /** What whoever sent the trajectories may want to know of them, for people. */
  readonly warnings: readonly string[];
}

export interface SequenceOrigin {
  /** The trajectory, or its additional history, as a client would name it in the job's body. */
  readonly place: string;
  /** Whether a prompt in it was rendered, since its record has none. */
  readonly isRendered: boolean;
  /** The oldest version that its trajectory says it was made with; null when it does not say. */
  readonly policyVersion: number | null;
}

/** A sequence before the job's common scale is known. */
interface Candidate {
  readonly recorded: RecordedSequence;
  readonly origin: SequenceOrigin;
  readonly group: number;
  readonly advantage: number;
  readonly trainableTokenCount: number;
  readonly trajectoryTokenCount: number;
}

/** What a model asks of sequences. */
interface SequenceModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

/**
 * Turns groups, one in memory at a time, into weighted sequences. A trajectory without advantage is left out, since
 * it would train nothing; a sequence longer than `sequenceLengthMax` is left out whole, never cut.
 *
 * @throws ServiceError `invalid` naming the trajectory and the Choice whose record contradicts itself or belongs to
 *   another model
 */
export async function prepareTrainingData(
  groups: AsyncIterable<TrajectoryGroup> | Iterable<TrajectoryGroup>,
  config: TrainingConfig,
  model: SequenceModel,
): Promise<TrainingData> {
  const skips = new Skips();
  const candidates: Candidate[] = [];
  let groupCount = 0;
  let trajectoryCount = 0;
  for await (const group of groups) {
    const read = readGroup(group, groupCount, { config, model });
    skips.addGroup(read.map((trajectory) => trajectory.skips));
    for (const trajectory of read) candidates.push(...trajectory.candidates);
    groupCount += 1;
    trajectoryCount += group.trajectories.length;
  }
  const weightings = weighSequences(candidates, config);
  const origins = new Map(
    candidates.map(({ recorded, origin, group }, index): [TrainingSequence, SequenceOrigin] => [
      { ...recorded.sequence, ...weightings[index], group },
      origin,
    ]),
  );
  return {
    sequences: [...origins.keys()],
    origins,
    counts: {
      groupsSubmitted: groupCount,
      groupsTrainable: new Set(candidates.map((candidate) => candidate.group)).size,
      trajectories: trajectoryCount,
      sequences: candidates.length,
      trainableTokens: candidates.reduce((count, candidate) => count + candidate.trainableTokenCount, 0),
      skipped: skips.trajectories,
      skippedGroups: skips.groups,
    },
    warnings: skips.warnings,
  };
}

/** What a trajectory gives, and what of it is skipped. */
interface ReadTrajectory {
  readonly candidates: readonly Candidate[];
  readonly skips: readonly Skip[];
}

function readGroup(
  group: TrajectoryGroup,
  groupIndex: number,
  { config, model }: { readonly config: TrainingConfig; readonly model: SequenceModel },
): readonly ReadTrajectory[] {
  const rewards = group.trajectories.map((trajectory) => trajectory.reward);
  const advantages = groupAdvantages(rewards, config);
  const [withoutAdvantage, detail]: readonly [SkipReason, string] = hasVariance(rewards)
    ? ["at_group_mean", "Its reward is the mean of its group."]
    : ["zero_variance", "All rewards of the group are equal."];
  return group.trajectories.map((trajectory, index) => {
    const place = `trajectory_groups.${groupIndex}.trajectories.${index}`;
    if (advantages[index] === 0)
      return { candidates: [], skips: [{ reason: withoutAdvantage, place, detail }] };
    const judged = { place, group: groupIndex, advantage: advantages[index] };
    return readTrajectory(trajectory, judged, { ...model, trainsTexts: config.allowTrainingWithoutLogprobs });
  });
}

function readTrajectory(
  trajectory: Trajectory,
  { place, group, advantage }: { readonly place: string } & Pick<Candidate, "group" | "advantage">,
  { tokenizer, sequenceLengthMax, trainsTexts }: SequenceModel & { readonly trainsTexts: boolean },
): ReadTrajectory {
  const { sequences, untrained } = withPlace(place, () =>
    trajectorySequences(trajectory, tokenizer, { trainsTexts }),
  );
  const policyVersion = oldestVersionOf(trajectory);
  const found = sequences.map((recorded) => ({
    recorded,
    origin: { place: placeIn(place, recorded.location), isRendered: recorded.isRendered, policyVersion },
    group,
    advantage,
    trainableTokenCount: trainedIndices(recorded.sequence).length,
  }));
  // Also of the sequences that are left out: what the others count for does not depend on the limit.
  const trajectoryTokenCount = found.reduce((sum, each) => sum + each.trainableTokenCount, 0);
  const lengthOf = ({ recorded }: (typeof found)[number]): number => recorded.sequence.tokenIds.length;
  const fits = (each: (typeof found)[number]): boolean => lengthOf(each) <= sequenceLengthMax;
  const tooLong = found
    .filter((each) => !fits(each))
    .map((each): Skip => {
      const detail = `A sequence of it has ${lengthOf(each)} tokens; at most ${sequenceLengthMax} train.`;
      return { reason: "too_long", place: each.origin.place, detail };
    });
  return {
    candidates: found.filter(fits).map((each) => ({ ...each, trajectoryTokenCount })),
    skips: [...untrained.map((each) => ({ ...each, place: placeIn(place, each.location) })), ...tooLong],
  };
}

/** Errors of `read` name the trajectory too. */
function withPlace(place: string, read: () => TrajectorySequences): TrajectorySequences {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const location = cause.faults[0]?.location ?? [];
    const message = `${placeIn(place, location)}: ${cause.message}`;
    throw new ServiceError({ code: cause.code, message, cause });
  }
}

function placeIn(place: string, location: readonly string[]): string {
  return [place, ...location].join(".");
}
