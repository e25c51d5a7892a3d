// Tests which parts of a job's trajectories are trained on and which are skipped.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readGoldenTraining } from "../../../../test/golden-training.ts";
import { goldenGroups, groupOf, trajectoryOf } from "../../../../test/golden-trajectories.ts";
import type { JobCounts } from "../../../base/domain/job.ts";
import { resolveTrainingConfig, type TrainingConfig } from "../../../base/domain/training-config.ts";
import type { HistoryItem, TrajectoryGroup } from "../../../base/domain/trajectory.ts";
import type { ConversationTokenizer } from "../../trajectories/conversation-tokenizer.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { PreparedLines, TokenFile } from "../prepared/token-file.ts";
import { linesOf } from "../testing/lines-of.ts";
import type { TrainingSequence } from "../trainer.ts";
import { readBatch } from "./optimizer-batches.ts";
import { prepareTrainingData, type SequenceOrigin, type TrainingData } from "./training-data.ts";

/** A tokenizer that must not be called: the golden trajectories contain their tokens, so nothing needs rendering. */
const tokenizer: ConversationTokenizer = {
  vocabularySize: 512,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  idOfToken: () => null,
};

/** Training data, with the tokens of its sequences read from disk. */
type ReadData = Omit<TrainingData, "sequences" | "origins"> & {
  readonly sequences: readonly TrainingSequence[];
  readonly origins: readonly SequenceOrigin[];
};

async function prepareWith(
  groups: readonly TrajectoryGroup[],
  config: TrainingConfig,
  model: Parameters<typeof prepareTrainingData>[2],
): Promise<ReadData> {
  const folder = mkdtempSync(join(tmpdir(), "hone-training-data-"));
  const file = new TokenFile(join(folder, "tokens"), null);
  try {
    const options = { clock: new FakeClock(), report: async () => undefined };
    const lines = new PreparedLines(file, linesOf(groups), options);
    const { sequences, origins, ...data } = await prepareTrainingData(lines, config, model);
    return { ...data, sequences: readBatch(file, sequences), origins: [...origins.values()] };
  } finally {
    file.close();
    rmSync(folder, { recursive: true });
  }
}

function prepare(groups: readonly TrajectoryGroup[], sequenceLengthMax = 48): Promise<ReadData> {
  return prepareWith(groups, resolveTrainingConfig({}), { tokenizer, sequenceLengthMax });
}

/** Returns history items that are choices without recorded tokens. */
function bareChoices(count: number): readonly HistoryItem[] {
  const bare = { finish_reason: "stop", message: { role: "assistant", content: "hi" }, logprobs: null };
  return Array.from({ length: count }, () => bare);
}

async function check(
  groups: readonly TrajectoryGroup[],
  expected: Partial<JobCounts>,
  lengthMax?: number,
): Promise<void> {
  const { counts } = await prepare(groups, lengthMax);
  for (const [name, value] of Object.entries(expected))
    assert.deepEqual(counts[name as keyof JobCounts], value, name);
}

test("recorded trajectories become the reference's sequences", async () => {
  const golden = readGoldenTraining().sequences.filter((_, index) => index !== 2);
  const { sequences } = await prepare(goldenGroups());
  assert.equal(sequences.length, golden.length);
  sequences.forEach((sequence, index) => {
    assert.deepEqual([...sequence.tokenIds], golden[index].token_ids);
    assert.deepEqual([...sequence.mask], golden[index].assistant_mask);
    const expected = golden[index].old_logprobs.map((value) => Math.fround(value ?? NaN));
    assert.deepEqual([...sequence.oldLogprobs], expected);
  });
});

test("weights have mean one over the sequences left after removing zero advantages", async () => {
  const { sequences, counts } = await prepare(goldenGroups());
  const mean = (value: (index: number) => number): number => {
    const trained = sequences.map(({ mask }) => mask.reduce((sum, each) => sum + each, 0));
    return trained.reduce((sum, count, index) => sum + count * value(index), 0) / counts.trainableTokens;
  };
  assert.ok(Math.abs(mean((index) => sequences[index].weight) - 1) < 1e-9);
  const mass = mean((index) => sequences[index].weight * Math.abs(sequences[index].advantage));
  assert.ok(Math.abs(mass - 1) < 1e-9);
});

test("a history that is too long still counts in its trajectory's weight", async () => {
  const [short, other] = readGoldenTraining().sequences;
  const long = { ...other, token_ids: [...other.token_ids, ...other.token_ids] };
  const longer = { ...long, assistant_mask: [...other.assistant_mask, ...other.assistant_mask] };
  const whole = { ...longer, old_logprobs: [...other.old_logprobs, ...other.old_logprobs] };
  const tokenCount = ({ assistant_mask: mask }: typeof short): number =>
    mask.reduce((sum: number, each: number) => sum + each, 0);
  const withLong = { ...trajectoryOf(short, 1), additionalHistories: [trajectoryOf(whole, 1)] };
  const { sequences } = await prepareWith(
    [groupOf([withLong, trajectoryOf(short, 0)])],
    resolveTrainingConfig({}),
    { tokenizer, sequenceLengthMax: Math.max(short.token_ids.length, whole.token_ids.length - 1) },
  );
  assert.equal(sequences.length, 2);
  const ratio = sequences[1].weight / sequences[0].weight;
  const expected = (tokenCount(short) + tokenCount(whole)) / tokenCount(short);
  assert.ok(Math.abs(ratio / expected - 1) < 1e-3, `${ratio} instead of ${expected}`);
});

test("groups of equal rewards do not affect the others, for rewards of any size", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const group = (rewards: readonly number[]): TrajectoryGroup =>
    groupOf(rewards.map((reward) => trajectoryOf(sequence, reward)));
  const normal = group([0, 0.25, 1]);
  const alone = await prepare([normal]);
  assert.ok(alone.sequences.length >= 2);
  for (const rewards of [[0.1, 0.1, 0.1], [0.1, 0.1 + 5e-13, 0.1 - 5e-13], Array<number>(5).fill(7e199)]) {
    const { sequences, counts } = await prepare([normal, group(rewards)]);
    assert.deepEqual(sequences, alone.sequences);
    assert.equal(counts.skipped["zero_variance"], rewards.length);
    assert.equal(counts.groupsTrainable, 1);
  }
  const apart = await prepare([group([0, 2e-12, -2e-12])]);
  assert.equal(apart.counts.groupsTrainable, 1);
});

test("counts by reason the trajectories and groups that cannot train", async () => {
  const counts = (skipped: JobCounts["skipped"], skippedGroups: JobCounts["skipped"]) => ({
    skipped,
    skippedGroups,
  });
  await check(goldenGroups(), {
    groupsTrainable: 2,
    trajectories: 6,
    sequences: 5,
    ...counts({ at_group_mean: 1 }, { at_group_mean: 1 }),
  });
  await check(
    goldenGroups(),
    {
      groupsTrainable: 2,
      sequences: 3,
      ...counts({ at_group_mean: 1, too_long: 2 }, { at_group_mean: 1, too_long: 1 }),
    },
    33,
  );
  const [sequence] = readGoldenTraining().sequences;
  const alike = groupOf([trajectoryOf(sequence, 0.1), trajectoryOf(sequence, 0.1)]);
  await check([alike, groupOf([]), groupOf([trajectoryOf(sequence, 1)])], {
    groupsSubmitted: 3,
    groupsTrainable: 0,
    trainableTokens: 0,
    ...counts({ zero_variance: 3 }, { zero_variance: 2 }),
  });
  const empty = { ...trajectoryOf(sequence, 0), messagesAndChoices: [] };
  await check([groupOf([empty, trajectoryOf(sequence, 1)])], {
    groupsTrainable: 1,
    sequences: 1,
    ...counts({ no_trainable_tokens: 1 }, { no_trainable_tokens: 1 }),
  });
});

test("a reason counts once per trajectory, however often it occurs there", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const history = {
    messagesAndChoices: [...trajectoryOf(sequence).messagesAndChoices, ...bareChoices(2)],
    tools: null,
  };
  const withHistories = { ...trajectoryOf(sequence, 1), additionalHistories: [history, history] };
  const groups = [groupOf([withHistories, withHistories, trajectoryOf(sequence, 0)])];
  const once = { skipped: { choice_without_tokens: 2 }, skippedGroups: { choice_without_tokens: 1 } };
  await check(groups, { trajectories: 3, sequences: 7, ...once });
  const tooLong = { skipped: { choice_without_tokens: 2, too_long: 3 } };
  await check(groups, { sequences: 0, groupsTrainable: 0, ...tooLong }, sequence.token_ids.length - 1);
});

test("texts train next to recorded choices if the job allows it", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const plain = trajectoryOf(sequence, 1);
  const said = { role: "assistant", content: "ok" };
  const given = [
    { ...plain, messagesAndChoices: [...plain.messagesAndChoices, said] },
    trajectoryOf(sequence, 0),
  ];
  const speaking = { ...tokenizer, encode: () => [7, 8], renderPrompt: () => [1, 2, 3] };
  const countWith = async (allowTrainingWithoutLogprobs: boolean): Promise<number> => {
    const config = resolveTrainingConfig({ allowTrainingWithoutLogprobs });
    const model = { tokenizer: speaking, sequenceLengthMax: 48 };
    return (await prepareWith([groupOf(given)], config, model)).counts.trainableTokens;
  };
  assert.equal(await countWith(true), (await countWith(false)) + 2);
});

test("warns of data that does not train but might have, with the first place of each reason", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const good = trajectoryOf(sequence, 0);
  const partly = {
    ...trajectoryOf(sequence, 1),
    additionalHistories: [{ messagesAndChoices: bareChoices(1), tools: null }],
  };
  const { warnings } = await prepare([
    groupOf([good, good]),
    groupOf([good, partly, { ...good, reward: 0.5 }]),
    groupOf([partly, good]),
  ]);
  assert.deepEqual(warnings, [
    "choice_without_tokens: of 2 trajectories in 2 groups something does not train; the first is " +
      "trajectory_groups.1.trajectories.1.additional_histories.0.messages_and_choices.0: " +
      "This choice recorded no tokens: neither token_ids, nor logprobs.content. " +
      "Its text trains with allow_training_without_logprobs.",
  ]);
  const tooLong = await prepare([groupOf([good, partly])], sequence.token_ids.length - 1);
  const length = sequence.token_ids.length;
  assert.deepEqual(
    tooLong.warnings[0],
    "too_long: of 2 trajectories in 1 group something does not train; the first is trajectory_groups.0.trajectories.0: " +
      `A sequence of it has ${length} tokens; at most ${length - 1} train.`,
  );
});

test("an error names the group, the trajectory and the turn", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const [first, ...others] = trajectoryOf(sequence, 1).messagesAndChoices;
  const wrong = {
    ...first,
    logprobs: { content: [{ token: "token_id:1", logprob: -1e308 }] },
    token_ids: [1],
  };
  const groups = [
    groupOf([]),
    groupOf([
      trajectoryOf(sequence, 0),
      { ...trajectoryOf(sequence, 1), messagesAndChoices: [...others, wrong] },
    ]),
  ];
  await assert.rejects(prepare(groups), {
    code: "invalid",
    message: `trajectory_groups.1.trajectories.1.messages_and_choices.${others.length}: A recorded choice contradicts itself: -1e+308 is not a log-probability.`,
  });
});

test("knows the origin of each sequence", async () => {
  const [sequence] = readGoldenTraining().sequences;
  const history = { messagesAndChoices: trajectoryOf(sequence).messagesAndChoices, tools: null };
  const groups = [
    groupOf([trajectoryOf(sequence, 0), { ...trajectoryOf(sequence, 1), additionalHistories: [history] }]),
  ];
  const { origins } = await prepare(groups);
  const place = "trajectory_groups.0.trajectories";
  assert.deepEqual(
    origins,
    [`${place}.0`, `${place}.1`, `${place}.1.additional_histories.0`].map((each) => ({
      place: each,
      isRendered: false,
      policyVersion: 0,
    })),
  );
});

test("the sequences of one trajectory share its weight", async () => {
  const [first, second] = readGoldenTraining().sequences;
  const [one, other] = [trajectoryOf(first, 1), trajectoryOf(second, 0)];
  const branched = {
    ...one,
    additionalHistories: [{ messagesAndChoices: one.messagesAndChoices, tools: null }],
  };
  const { sequences } = await prepare([groupOf([branched, other])]);
  const mass = sequences.map(({ mask, weight }) => weight * mask.reduce((sum, each) => sum + each, 0));
  assert.equal(sequences.length, 3);
  assert.ok(Math.abs(mass[0] + mass[1] - mass[2]) < 1e-5);
  assert.equal(sequences[0].advantage, sequences[1].advantage);
});
