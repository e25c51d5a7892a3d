// What of a job's trajectories trains, and the counts of what does not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readGoldenTraining } from "../../test/golden-training.ts";
import { goldenGroups, groupOf, trajectoryOf } from "../../test/golden-trajectories.ts";
import type { JobCounts } from "../domain/job.ts";
import { resolveTrainingConfig } from "../domain/training-config.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import type { ConversationTokenizer } from "../trajectories/sequences.ts";
import { type TrainingData, prepareTrainingData } from "./training-data.ts";

/** The golden trajectories carry their tokens: nothing has to be rendered. */
const tokenizer: ConversationTokenizer = {
  vocabularySize: 512,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  idOfToken: () => null,
};

function prepare(groups: readonly TrajectoryGroup[], sequenceLengthMax = 48): Promise<TrainingData> {
  return prepareTrainingData(groups, resolveTrainingConfig({}), { tokenizer, sequenceLengthMax });
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

test("what is left after zero advantages is weighed to mean one", async () => {
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
  const { sequences } = await prepareTrainingData(
    [groupOf([withLong, trajectoryOf(short, 0)])],
    resolveTrainingConfig({}),
    { tokenizer, sequenceLengthMax: Math.max(short.token_ids.length, whole.token_ids.length - 1) },
  );
  assert.equal(sequences.length, 2);
  const ratio = sequences[1].weight / sequences[0].weight;
  const expected = (tokenCount(short) + tokenCount(whole)) / tokenCount(short);
  assert.ok(Math.abs(ratio / expected - 1) < 1e-3, `${ratio} instead of ${expected}`);
});

test("counts what cannot train by its reason", async () => {
  await check(goldenGroups(), {
    groupsTrainable: 2,
    trajectories: 6,
    sequences: 5,
    skipped: { zero_variance: 1 },
  });
  await check(
    goldenGroups(),
    { groupsTrainable: 2, sequences: 3, skipped: { zero_variance: 1, too_long: 2 } },
    33,
  );
  const [sequence] = readGoldenTraining().sequences;
  await check([groupOf([trajectoryOf(sequence, 0.1), trajectoryOf(sequence, 0.1)]), groupOf([])], {
    groupsSubmitted: 2,
    groupsTrainable: 0,
    trainableTokens: 0,
    skipped: { zero_variance: 2 },
  });
  const empty = { ...trajectoryOf(sequence, 0), messagesAndChoices: [] };
  await check([groupOf([empty, trajectoryOf(sequence, 1)])], {
    groupsTrainable: 1,
    sequences: 1,
    skipped: { no_trainable_tokens: 1 },
  });
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
