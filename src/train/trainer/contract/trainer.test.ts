// Runs the trainer contract on three trainers: the embedded one with microbatches, the naive one, and one behind a
// remote protocol. Also compares the embedded trainer's results with the naive trainer's.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { inProof, searchedOf } from "../../../base/domain/testing/search.ts";
import { NaiveTrainers } from "../testing/naive-trainer.ts";
import { RemoteServer } from "../testing/remote/remote-server.ts";
import { RemoteTrainers } from "../testing/remote/remote-trainer.ts";
import type { Loss } from "../trainer.ts";
import { losses } from "./check-numbers.ts";
import { checkTrainer } from "./check-trainer.ts";
import { tinyBatch, tinyBatchFor, tinyConfig, tinyLora, tinyWeights } from "./tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  assertRejects,
  flat,
  policy,
  tinyTrainers,
} from "./trainers-under-test.ts";

function embedded(microbatchTokens: number): MakeTrainers {
  return (dataFolder, context) => {
    const trainers = tinyTrainers({ dataFolder, microbatchTokens });
    context.after(() => trainers.close());
    return trainers;
  };
}

const naive: MakeTrainers = (dataFolder) =>
  new NaiveTrainers({
    config: tinyConfig,
    weights: tinyWeights,
    lora: tinyLora,
    dataFolder,
    sequenceLengthMax: 10,
  });

/** Makes trainers that use a remote service, which in turn computes with the naive trainer. */
const remote: MakeTrainers = (dataFolder, context) => {
  const place = mkdtempSync(join(dataFolder, "elsewhere-"));
  const trainers = naive(place, context);
  return new RemoteTrainers(new RemoteServer(trainers, place), trainers);
};

checkTrainer("the embedded trainer", embedded(18), searchedOf(losses, 6, "embedded"));
checkTrainer("the naive trainer", naive, searchedOf(losses, 1, "naive"));
// Trainers of Tinker servers also pass the contract behind a remote protocol (`tinker/contract.test.ts`).
if (!inProof.skip)
  checkTrainer("a remote trainer", remote, [
    ...new Set([...searchedOf(losses, 1, "remote"), ...losses.slice(-1)]),
  ]);

interface Outcome {
  readonly losses: readonly number[];
  readonly norms: readonly number[];
  readonly logprobs: readonly number[];
  readonly adapter: readonly number[];
}

/** Trains three steps; the last step uses other data than the first two. */
async function train(make: MakeTrainers, loss: Loss, t: TestContext): Promise<Outcome> {
  const bench = new TrainerBench(make, t);
  const trainer = await bench.open();
  const lossValues: number[] = [];
  const norms: number[] = [];
  const all = tinyBatchFor(loss);
  for (const batch of [all, all, all.slice(2)]) {
    lossValues.push((await trainer.forwardBackward(batch, loss, bench.call())).loss);
    const { metrics } = await trainer.optimStep(adamStep, bench.call());
    norms.push(metrics["gradient_norm"]);
  }
  const { logprobs } = await trainer.forward(tinyBatch(), bench.call());
  const { adapter } = await bench.export(trainer);
  return {
    losses: lossValues,
    norms,
    logprobs: logprobs.flatMap((values) => [...values]),
    adapter: flat(adapter),
  };
}

for (const [index, loss] of searchedOf([...losses.entries()], 3, "steps")) {
  test(`the embedded and the naive trainer agree after three steps with loss ${index}, for any microbatch size`, async (t) => {
    const expected = await train(naive, loss, t);
    for (const microbatchTokens of searchedOf([1, 18, 1000], 1, `${index}`)) {
      const actual = await train(embedded(microbatchTokens), loss, t);
      assertClose(actual.losses, expected.losses, 1e-4);
      assertClose(actual.norms, expected.norms, 1e-3);
      assertClose(actual.logprobs, expected.logprobs, 1e-3);
      assertClose(actual.adapter, expected.adapter, 1e-3);
    }
  });
}

test("the embedded trainer stops at an abort between two microbatches", async (t) => {
  const bench = new TrainerBench(embedded(1), t);
  const trainer = await bench.open();
  await trainer.forwardBackward(tinyBatch(), policy, bench.call());
  await trainer.optimStep(adamStep, bench.call());
  const aborting = new AbortController();
  const call = trainer.forwardBackward(tinyBatch(), policy, { id: "midway", signal: aborting.signal });
  setImmediate(() => setImmediate(() => aborting.abort()));
  await assertRejects(call, "cancelled");
  await assertRejects(trainer.optimStep(adamStep, bench.call()), "invalid");
});

test("the embedded trainer reports the entropy of the trained tokens", async (t) => {
  const bench = new TrainerBench(embedded(18), t);
  const trainer = await bench.open();
  const { metrics } = await trainer.forwardBackward(tinyBatch(), policy, bench.call());
  // The upper limit is the entropy of eleven equal probabilities, times the largest token weight.
  assert.ok(metrics["entropy"] > 0.5 && metrics["entropy"] < 1.5 * Math.log(11), `${metrics["entropy"]}`);
});
