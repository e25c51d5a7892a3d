// Tests that computing the parts of a batch in parallel threads gives the same result as computing the whole batch in
// one thread.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { projectionNames } from "../../../base/domain/model.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { tinyConfig } from "../contract/tiny-model.ts";
import {
  TrainerBench,
  adamStep,
  assertClose,
  flat,
  policy,
  tinyTrainers,
} from "../contract/trainers-under-test.ts";
import type { Loss, TrainingSequence } from "../trainer.ts";
import type { EmbeddedTrainers } from "./embedded-trainer.ts";

const sequenceLength = 10;

/**
 * Returns a batch in which each prompt is continued by four sequences. With the `count` used here, a batch has enough
 * tokens to be divided into two parts.
 */
function batchOf(count: number): readonly TrainingSequence[] {
  const random = seededRandom("side by side");
  const ids = (length: number) => Array.from({ length }, () => random.index(tinyConfig.vocabularySize));
  let prompt: readonly number[] = [];
  return Array.from({ length: count }, (_, index) => {
    if (index % 4 === 0) prompt = ids(4);
    const length = sequenceLength - random.index(4);
    const mask = Uint8Array.from({ length }, (_each, at) => (at < 4 ? 0 : 1));
    const logprobs = () =>
      Float32Array.from(mask, (trains) => (trains === 1 ? -1.5 - 2 * random.uniform() : NaN));
    return {
      tokenIds: Int32Array.from([...prompt, ...ids(length - 4)]),
      mask,
      oldLogprobs: logprobs(),
      referenceLogprobs: logprobs(),
      advantage: 2 * random.uniform() - 1,
      weight: 1,
      group: index,
    };
  });
}

/**
 * Returns trainers whose token limit per microbatch makes them compute a batch of 400 sequences in two rounds, one
 * after the other.
 */
function trainersOf(threads: number, dataFolder: string, context: TestContext): EmbeddedTrainers {
  const trainers = tinyTrainers({ dataFolder, microbatchTokens: 900, threads });
  context.after(() => trainers.close());
  return trainers;
}

/** The KL penalty makes each part depend on the others: it needs the log-probabilities of all parts first. */
const loss: Loss = { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.3 }) };

async function train(bench: TrainerBench, batch: readonly TrainingSequence[]) {
  const trainer = await bench.open();
  const { loss: before, metrics } = await trainer.forwardBackward(batch, loss, bench.call());
  await trainer.optimStep(adamStep, bench.call());
  const { logprobs } = await trainer.forward(batch, bench.call());
  const { adapter, bytes } = await bench.export(trainer);
  const numbers = [before, metrics["entropy"], ...logprobs.flatMap((values) => [...values])];
  return { numbers, adapter: flat(adapter), bytes };
}

test("parts computed side by side give the whole batch's result, repeat bit for bit, and do so after a failed part", async (t) => {
  const batch = batchOf(400);
  const [one, two] = [1, 2].map(
    (threads) => new TrainerBench((dataFolder, context) => trainersOf(threads, dataFolder, context), t),
  );
  const trainers = two.trainers as EmbeddedTrainers;
  const sides = (data: readonly TrainingSequence[], of: Loss) =>
    trainers.cut(data, of).map((round) => round.map(({ kind }) => kind));
  assert.deepEqual(sides(batch, loss), [
    ["prefixed", "prefixed"],
    ["prefixed", "prefixed"],
  ]);
  assert.deepEqual(sides(batch.slice(0, 200), policy), [["prefixed", "prefixed"]]);
  assert.deepEqual(sides(batch.slice(0, 200), loss), [["prefixed"]], "saves a forward pass");
  const whole = await train(one, batch);
  const divided = await train(two, batch);
  assertClose(divided.numbers, whole.numbers, 1e-5);
  assertClose(divided.adapter, whole.adapter, 1e-3);
  const adapter = { rank: 2, scale: 2, targets: projectionNames };
  const program = { kind: "logprobs", layout: "prefixed", adapter } as const;
  const incomplete = Array.from({ length: 2 }, () => ({ program, feeds: {} }));
  await assert.rejects(trainers.threads.run(incomplete), /the feeds contain the input tokens/);
  assert.deepEqual((await train(two, batch)).bytes, divided.bytes);
  await trainers.close();
  assert.deepEqual((await train(two, batch)).bytes, divided.bytes, "with programs loaded anew");
});
