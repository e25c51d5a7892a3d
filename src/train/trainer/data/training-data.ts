// Converts the trajectories of a job to sequences with advantages and weights, and counts all skipped parts. The same
// trajectories always give the same data. Tokens stay on disk until a trainer needs them.
import type { JobCounts } from "../../../base/domain/job.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { TrainingConfig } from "../../../base/domain/training-config.ts";
import type { Trajectory, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import {
  type TokenSequence,
  trainedIndices,
  trajectorySequences,
  type TrajectorySequences,
} from "../../trajectories/sequences.ts";
import {
  type AnswerSummary,
  type GroupAnswers,
  answerWarnings,
  AnswerTally,
  groupAnswers,
} from "./answer-summary.ts";
import type { PreparedLine, PreparedLines, StoredSequence } from "../prepared/token-file.ts";
import { hasVariance } from "../../trajectories/centered-rewards.ts";
import { groupAdvantages, weighSequences } from "./advantage.ts";
import { oldestVersionOf } from "../metrics/staleness.ts";
import { type Skip, type SkipReason, Skips } from "./skips.ts";
import type { PlannedSequence } from "./optimizer-batches.ts";

export interface TrainingData {
  /** The training sequences, in the order of the trajectories. */
  readonly sequences: readonly PlannedSequence[];
  /** For each sequence, where in the request body it comes from. */
  readonly origins: ReadonlyMap<PlannedSequence, SequenceOrigin>;
  readonly counts: JobCounts;
  /** Rewards of all trajectories, including those that are not trained on. */
  readonly rewards: readonly number[];
  /** Statistics of the model's answers in all trajectories. */
  readonly answers: AnswerSummary;
  /** Warnings for the job's creator, one sentence each. */
  readonly warnings: readonly string[];
}

export interface SequenceOrigin {
  /** Path, in the request body, of the trajectory or additional history from which the sequence comes. */
  readonly place: string;
  /**
   * True if some turn of this sequence was recorded without the tokens of its prompt, so that Hone rendered the prompt
   * from messages.
   */
  readonly isRendered: boolean;
  /** Number of the oldest policy version in the trajectory's record; null if the record has none. */
  readonly policyVersion: number | null;
}

/** Properties of a sequence that depend only on its own trajectory and group. */
interface Judged {
  readonly origin: SequenceOrigin;
  readonly advantage: number;
  readonly trajectoryTokenCount: number;
}

/** A sequence whose final weight is not known yet, because the weight depends on the whole job. */
interface Candidate extends Judged {
  readonly stored: StoredSequence;
  readonly group: number;
  readonly trainableTokenCount: number;
}

/** Facts about one group, stored on disk with the group's sequences. */
interface GroupNote {
  readonly trajectoryCount: number;
  /** The reward of each trajectory of the group. */
  readonly rewards: readonly number[];
  /** Facts about the model's answers in all trajectories of the group. */
  readonly answers: GroupAnswers;
  /** Paths of message histories that became several sequences; absent if there are none. */
  readonly split?: readonly string[];
  /** Skipped parts of each trajectory, one list per trajectory. */
  readonly skips: readonly (readonly Skip[])[];
  /** One entry for each training sequence of the group. */
  readonly judged: readonly Judged[];
}

/** Properties of a model that determine how trajectories become training data. */
interface SequenceModel {
  readonly tokenizer: ConversationTokenizer;
  readonly sequenceLengthMax: number;
}

/**
 * Converts groups to weighted sequences, with one group in memory at a time. Excludes trajectories with zero advantage,
 * because training on them would have no effect. Excludes sequences longer than `sequenceLengthMax`, and never cuts
 * one.
 *
 * @throws ServiceError `invalid` if the record of a choice contradicts itself or belongs to another model; the message
 * names the trajectory and the choice
 */
export async function prepareTrainingData(
  groups: PreparedLines<TrajectoryGroup>,
  config: TrainingConfig,
  model: SequenceModel,
): Promise<TrainingData> {
  const skips = new Skips();
  const candidates: Candidate[] = [];
  let groupCount = 0;
  let trajectoryCount = 0;
  const rewards: number[] = [];
  const answers = new AnswerTally();
  let splitCount = 0;
  let firstSplit: string | null = null;
  for await (const { note, sequences } of groups.each((group, index) =>
    prepareGroup(group, index, { config, model }),
  )) {
    skips.addGroup(note.skips);
    for (const [index, stored] of sequences.entries()) {
      const { trainedCount: trainableTokenCount } = stored;
      candidates.push({ ...note.judged[index], stored, group: groupCount, trainableTokenCount });
    }
    groupCount += 1;
    trajectoryCount += note.trajectoryCount;
    for (const reward of note.rewards) rewards.push(reward);
    answers.add(note.answers);
    splitCount += note.split?.length ?? 0;
    firstSplit ??= note.split?.[0] ?? null;
  }
  const weightings = weighSequences(candidates, config);
  const origins = new Map(
    candidates.map(({ stored, origin, group }, index): [PlannedSequence, SequenceOrigin] => [
      { ...stored, ...weightings[index], group },
      origin,
    ]),
  );
  const counts = {
    groupsSubmitted: groupCount,
    groupsTrainable: new Set(candidates.map((candidate) => candidate.group)).size,
    trajectories: trajectoryCount,
    sequences: candidates.length,
    trainableTokens: candidates.reduce((count, candidate) => count + candidate.trainableTokenCount, 0),
    skipped: skips.trajectories,
    skippedGroups: skips.groups,
  };
  const summary = answers.summary();
  return {
    sequences: [...origins.keys()],
    origins,
    counts,
    rewards,
    answers: summary,
    warnings: [
      ...skips.warnings,
      ...splitWarnings(splitCount, firstSplit),
      ...answerWarnings(summary, rewards, counts),
    ],
  };
}

/**
 * Warns about turns that do not continue the tokens before them. Such a turn starts a separate sequence, which the
 * job's creator rarely intends.
 */
function splitWarnings(count: number, first: string | null): readonly string[] {
  if (first === null) return [];
  const histories = count === 1 ? "1 history" : `${count} histories`;
  return [
    `${histories} became several sequences, since a later prompt does not begin with the tokens of the earlier turns; the first is ${first}. ` +
      "Its text was tokenized differently than it was sampled, the template left something out, or a message was changed. " +
      "Send an earlier answer back with its token_ids and prompt_token_ids, as `train` and startTrajectory of hone-server/client do.",
  ];
}

function prepareGroup(
  group: TrajectoryGroup,
  index: number,
  context: { readonly config: TrainingConfig; readonly model: SequenceModel },
): PreparedLine<GroupNote> {
  const read = readGroup(group, index, context);
  const found = read.flatMap(({ sequences }) => sequences);
  const split = read.flatMap((trajectory) => trajectory.split);
  return {
    note: {
      ...(split.length === 0 ? {} : { split }),
      trajectoryCount: group.trajectories.length,
      rewards: group.trajectories.map(({ reward }) => reward),
      answers: groupAnswers(group.trajectories),
      skips: read.map(({ skips }) => skips),
      judged: found.map(({ judged }) => judged),
    },
    sequences: found.map(({ sequence }) => sequence),
  };
}

/** The training sequences and skipped parts of one trajectory. */
interface ReadTrajectory {
  readonly sequences: readonly { readonly sequence: TokenSequence; readonly judged: Judged }[];
  readonly skips: readonly Skip[];
  /** Paths of message histories that became several sequences. */
  readonly split: readonly string[];
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
      return { sequences: [], skips: [{ reason: withoutAdvantage, place, detail }], split: [] };
    const judged = { place, advantage: advantages[index] };
    return readTrajectory(trajectory, judged, { ...model, trainsTexts: config.allowTrainingWithoutLogprobs });
  });
}

function readTrajectory(
  trajectory: Trajectory,
  { place, advantage }: { readonly place: string; readonly advantage: number },
  { tokenizer, sequenceLengthMax, trainsTexts }: SequenceModel & { readonly trainsTexts: boolean },
): ReadTrajectory {
  const { sequences, untrained, split } = withPlace(place, () =>
    trajectorySequences(trajectory, tokenizer, { trainsTexts }),
  );
  // Counts the tokens of excluded sequences too. Otherwise, the weight of the trajectory's other sequences would depend
  // on the length limit.
  const trajectoryTokenCount = sequences.reduce(
    (sum, { sequence }) => sum + trainedIndices(sequence).length,
    0,
  );
  const policyVersion = oldestVersionOf(trajectory);
  const found = sequences.map(({ sequence, location, isRendered }) => {
    const origin = { place: placeIn(place, location), isRendered, policyVersion };
    return { sequence, judged: { origin, advantage, trajectoryTokenCount } };
  });
  type Found = (typeof found)[number];
  const lengthOf = ({ sequence }: Found): number => sequence.tokenIds.length;
  const fits = (each: Found): boolean => lengthOf(each) <= sequenceLengthMax;
  const tooLong = found
    .filter((each) => !fits(each))
    .map((each): Skip => {
      const detail = `A sequence of it has ${lengthOf(each)} tokens; at most ${sequenceLengthMax} train.`;
      return { reason: "too_long", place: each.judged.origin.place, detail };
    });
  return {
    sequences: found.filter(fits),
    skips: [...untrained.map((each) => ({ ...each, place: placeIn(place, each.location) })), ...tooLong],
    split: split.map((location) => placeIn(place, location)),
  };
}

/** Calls `read`, and adds the path of the trajectory to the errors that it throws. */
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
