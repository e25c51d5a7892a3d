// Part of the contract that all trainers must pass: saved states, starting from adapters, and runs that a new process
// takes over.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import type { Trainer } from "../trainer.ts";
import { expectedLogprobs, tinyBatch, tinyConfig, trainedAdapter } from "./tiny-model.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  assertRejects,
  flat,
  policy,
} from "./trainers-under-test.ts";

/** Registers the contract's tests of starting points and saved states; see {@link checkTrainer}. */
export function checkStates(make: MakeTrainers): void {
  const step = async (bench: TrainerBench, trainer: Trainer): Promise<void> => {
    await trainer.forwardBackward(tinyBatch(), policy, bench.call());
    await trainer.optimStep(adamStep, bench.call());
  };

  test("a saved state continues exactly like a trainer that was never closed, or with a new optimizer", async (t) => {
    const bench = new TrainerBench(make, t);
    const through = await bench.open();
    await step(bench, through);
    const saved = await bench.export(through);
    const state = await bench.save(through);
    await step(bench, through);
    const expected = await bench.export(through);
    await through.close();
    const reopened = await bench.reopen(state);
    bench.assertSame(await bench.export(reopened), saved);
    await step(bench, reopened);
    bench.assertSame(await bench.export(reopened), expected);
    const anew = await bench.openAt({ kind: "state", state, keepsOptimizer: false });
    bench.assertSame(await bench.export(anew), saved);
    await step(bench, anew);
    const difference = differenceOf(flat((await bench.export(anew)).adapter), flat(expected.adapter));
    assert.ok(difference > 1e-4, `${difference}`);
  });

  test("a state saved next to its adapter, under a version's name, works like any other", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await step(bench, trainer);
    mkdirSync(join(bench.dataFolder, "version"));
    await trainer.exportAdapter(join(bench.dataFolder, "version"), bench.call());
    const state = await trainer.saveState("version", bench.call());
    const reopened = await bench.reopen(state);
    for (const each of [trainer, reopened]) await step(bench, each);
    bench.assertSame(await bench.export(reopened), await bench.export(trainer));
  });

  test("saving again under a name replaces the earlier state", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    await trainer.saveState("again", bench.call());
    await step(bench, trainer);
    const state = await trainer.saveState("again", bench.call());
    bench.assertSame(await bench.export(await bench.reopen(state)), await bench.export(trainer));
  });

  test("discarding removes only the named state, and can be repeated", async (t) => {
    const bench = new TrainerBench(make, t);
    const trainer = await bench.open();
    const [kept, dropped] = [await bench.save(trainer), await bench.save(trainer)];
    for (let call = 0; call < 2; call++) await bench.trainers.discard(dropped);
    await assertRejects(bench.reopen(dropped), "invalid", "not_found");
    bench.assertSame(await bench.export(await bench.reopen(kept)), await bench.export(trainer));
  });

  test("refuses a state that another trainer saved", async (t) => {
    const bench = new TrainerBench(make, t);
    await assertRejects(bench.reopen("what another trainer keeps"), "invalid", "not_found");
  });

  test("starts from an adapter's folder with a new optimizer, or refuses the adapter", async (t) => {
    const bench = new TrainerBench(make, t);
    const folder = join(bench.dataFolder, "given");
    const given = trainedAdapter();
    writeLoraAdapter(folder, given, { config: tinyConfig, baseModelName: "tiny" });
    const opening = bench.openAt({ kind: "adapter", folder });
    if (!bench.trainers.profile.takesAdapters) return await assertRejects(opening, "unsupported");
    const trainer = await opening;
    const { logprobs } = await trainer.forward(tinyBatch(), bench.call());
    tinyBatch().forEach((sequence, row) =>
      assertClose(logprobs[row], expectedLogprobs(sequence, given), 1e-5),
    );
    assertClose(flat((await bench.export(trainer)).adapter), flat(given), 1e-6);
    const absent = join(bench.dataFolder, "absent");
    await assertRejects(bench.openAt({ kind: "adapter", folder: absent }), "invalid", "not_found");
  });

  test("a run that a lost process left open can be opened again under its id, from the given start", async (t) => {
    const bench = new TrainerBench(make, t);
    const run = { id: "jobs/run", signal: new AbortController().signal };
    const lost = await bench.openAt({ kind: "new", seed: "seed" }, run);
    await step(bench, lost);
    const state = await lost.saveState("jobs/run/step-1", bench.call());
    const kept = await bench.export(lost);
    await step(bench, lost);
    const found = await bench.openAt({ kind: "state", state, keepsOptimizer: true }, run);
    bench.assertSame(await bench.export(found), kept);
    const anew = await bench.openAt({ kind: "new", seed: "seed" }, run);
    await step(bench, anew);
    bench.assertSame(await bench.export(anew), kept);
  });

  test("opening with an aborted signal fails as cancelled", async (t) => {
    const { trainers } = new TrainerBench(make, t);
    const aborted = { id: "aborted", signal: AbortSignal.abort() };
    await assertRejects(trainers.open({ kind: "new", seed: "seed" }, aborted), "cancelled");
  });
}

function differenceOf(one: readonly number[], other: readonly number[]): number {
  return Math.max(...one.map((value, index) => Math.abs(value - other[index])));
}
