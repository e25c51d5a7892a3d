// Part of the contract that all trainers must pass: calls, their ids, aborts and refusals, and closing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { type Loss, preferenceLossOf, type Trainer, type TrainingSequence } from "../trainer.ts";
import { tinyBatch, tinyBatchFor } from "./tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  assertRejects,
  plainStep,
  policy,
} from "./trainers-under-test.ts";

/** Registers the contract's tests of calls; see {@link checkTrainer}. */
export function checkCalls(make: MakeTrainers): void {
  test("a repeated call takes effect once and returns the result of the first", async (t) => {
    const bench = new TrainerBench(make, t);
    const [once, twice] = [await bench.open(), await bench.open()];
    const gradientCall = bench.call();
    const stepCall = bench.call();
    const results = [];
    for (const [trainer, repeats] of [
      [once, 1],
      [twice, 2],
    ] as const) {
      for (let each = 0; each < repeats; each++)
        results.push(await trainer.forwardBackward(tinyBatch(), policy, gradientCall));
      for (let each = 0; each < repeats; each++) results.push(await trainer.optimStep(adamStep, stepCall));
    }
    const [gradient, step, ...repeated] = results;
    if (bench.trainers.profile.isRepeatable) assert.deepEqual(repeated, [gradient, gradient, step, step]);
    else assert.deepEqual([repeated[1], repeated[3]], [repeated[0], repeated[2]]);
    bench.assertSame(await bench.export(twice), await bench.export(once));
  });

  test("a call with another id takes effect separately", async (t) => {
    const bench = new TrainerBench(make, t);
    const [once, twice] = [await bench.open(), await bench.open()];
    await once.forwardBackward(tinyBatch(), policy, bench.call());
    await twice.forwardBackward(tinyBatch(), policy, bench.call());
    await twice.forwardBackward(tinyBatch(), policy, bench.call());
    const single = await bench.gradient(once);
    const double = await bench.gradient(twice);
    assertClose(
      double,
      single.map((slope) => 2 * slope),
      1e-4,
    );
  });

  test("overlapping calls take effect in the order in which they were made", async (t) => {
    const bench = new TrainerBench(make, t);
    const [waiting, hasty] = [await bench.open(), await bench.open()];
    const calls = (trainer: Trainer): readonly (() => Promise<unknown>)[] => [
      () => trainer.forwardBackward(tinyBatch(), policy, bench.call()),
      () => trainer.optimStep(adamStep, bench.call()),
      () => trainer.forwardBackward(tinyBatch().slice(2), policy, bench.call()),
      () => trainer.optimStep(adamStep, bench.call()),
    ];
    for (const call of calls(waiting)) await call();
    await Promise.all(calls(hasty).map((call) => call()));
    bench.assertSame(await bench.export(hasty), await bench.export(waiting));
  });

  test("one run does not affect another", async (t) => {
    const bench = new TrainerBench(make, t);
    const [one, other] = [await bench.open(), await bench.open()];
    const before = await bench.export(other);
    await one.forwardBackward(tinyBatch(), policy, bench.call());
    await one.optimStep({ ...adamStep, weightDecay: 0.5 }, bench.call());
    bench.assertSame(await bench.export(other), before);
  });

  test("an aborted call fails as cancelled and leaves the trainer unchanged", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    const before = await bench.export(trainer);
    const aborted = { id: "aborted", signal: AbortSignal.abort() };
    await assertRejects(trainer.forward(tinyBatch(), aborted), "cancelled");
    await assertRejects(trainer.forwardBackward(tinyBatch(), policy, aborted), "cancelled");
    await assertRejects(trainer.optimStep(adamStep, aborted), "cancelled");
    await assertRejects(trainer.saveState("aborted", aborted), "cancelled");
    await assertRejects(trainer.exportAdapter(bench.dataFolder, aborted), "cancelled");
    bench.assertSame(await bench.export(trainer), before);
    // The aborted calls had no effect: the gradient is that of a single call, and their id is still unused.
    const other = await bench.open();
    await other.forwardBackward(tinyBatch(), policy, bench.call());
    await trainer.optimStep(plainStep, { ...bench.call(), id: "aborted" });
    await other.optimStep(plainStep, bench.call());
    bench.assertSame(await bench.export(trainer), await bench.export(other));
  });

  test("a call that is aborted during its computation takes full effect or none", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await trainer.forward(tinyBatch(), bench.call());
    const aborting = new AbortController();
    const call = trainer.forwardBackward(tinyBatch(), policy, { id: "midway", signal: aborting.signal });
    setImmediate(() => setImmediate(() => aborting.abort()));
    const isDone = await call.then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof ServiceError && error.code === "cancelled");
        return false;
      },
    );
    if (isDone) {
      const other = await bench.open();
      await other.forwardBackward(tinyBatch(), policy, bench.call());
      assertClose(await bench.gradient(trainer), await bench.gradient(other), 1e-4);
    } else await assertRejects(trainer.optimStep(plainStep, bench.call()), "invalid");
  });

  test("refuses invalid calls without changing anything", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    const before = await bench.export(trainer);
    const [sequence] = tinyBatch();
    const length = bench.trainers.sequenceLengthMax + 1;
    const long = {
      ...sequence,
      tokenIds: new Int32Array(length),
      mask: new Uint8Array(length).fill(1, 1),
      oldLogprobs: new Float32Array(length).fill(NaN),
    };
    const silent = { ...sequence, mask: sequence.mask.map(() => 0) };
    const early = { ...sequence, mask: sequence.mask.map((trains, index) => (index === 0 ? 1 : trains)) };
    for (const batch of [[], [sequence, long], [silent], [early]]) {
      await assertRejects(trainer.forward(batch, bench.call()), "invalid");
      await assertRejects(trainer.forwardBackward(batch, policy, bench.call()), "invalid");
    }
    const penalized: Loss = { kind: "policy", config: resolveTrainingConfig({ klPenaltyCoefficient: 0.1 }) };
    const { referenceLogprobs: _reference, ...incomparable } = sequence;
    await assertRejects(trainer.forwardBackward([incomparable], penalized, bench.call()), "invalid");
    if (bench.trainers.profile.losses.includes("preference"))
      for (const refused of refusedPreferences())
        await assertRejects(trainer.forwardBackward(refused, dpo, bench.call()), "invalid");
    const boundless = { ...sequence, advantage: Infinity };
    await assertRejects(trainer.forwardBackward([boundless], policy, bench.call()), "unsupported");
    await assertRejects(trainer.optimStep(adamStep, bench.call()), "invalid");
    bench.assertSame(await bench.export(trainer), before);
  });

  test("refuses to export a version with non-finite numbers", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    await trainer.optimStep({ ...adamStep, learningRate: 1e300, weightDecay: 0 }, bench.call());
    await assertRejects(bench.export(trainer), "unsupported");
  });

  test("has a valid name and at least one loss", async (t) => {
    const { name, losses } = new TrainerBench(make, t).trainers.profile;
    assert.match(name, /^[a-z][a-z0-9-]*$/);
    assert.ok(losses.length > 0);
  });

  test("closing is idempotent, and a closed trainer refuses calls", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await trainer.close();
    await trainer.close();
    await assertRejects(trainer.forward(tinyBatch(), bench.call()), "unavailable");
    await assertRejects(trainer.optimStep(adamStep, bench.call()), "unavailable");
  });
}

const dpo = preferenceLossOf(resolvePreferenceConfig({ loss: "dpo" }));

/**
 * Returns batches that a preference loss must refuse: without preferences, with only a chosen answer, and without
 * reference log-probabilities.
 */
function refusedPreferences(): readonly (readonly TrainingSequence[])[] {
  const [chosen, rejected] = tinyBatchFor(dpo);
  const { referenceLogprobs: _reference, ...incomparable } = chosen;
  return [tinyBatch(), [chosen], [incomparable, rejected]];
}
