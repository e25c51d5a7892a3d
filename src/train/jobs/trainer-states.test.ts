// Tests when the server removes data that attempts and trainers keep for a job.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerProfile } from "../../base/domain/trainer/profile.ts";
import { resolveTrainingConfig, type TrainingConfigInput } from "../../base/domain/training-config.ts";
import { embeddedProfile } from "../trainer/embedded/profile.ts";
import { newJob } from "./new-job.ts";
import { type Run, outcome, twoSteps, untilInterrupted, lost, Bench } from "./testing/queue-bench.ts";

/** A run that succeeds and saves the trainer's state separately from the adapter. */
const withState: Run = async ({ job }) => ({ ...outcome, trainerState: `state of ${job.id}` });

test("removes data kept between attempts when the job has ended in any way, and not before", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    twoSteps,
    async () => Promise.reject(new ServiceError({ code: "invalid", message: "no" })),
    lost,
    untilInterrupted,
    untilInterrupted,
  ]);
  await bench.submit(queue, "good");
  await bench.submit(queue, "bad");
  assert.deepEqual(bench.discardedWork.splice(0), ["good", "bad"]);
  assert.deepEqual(bench.kept.splice(0), ["good", "bad"]);
  await bench.submit(queue, "lost");
  assert.equal(await bench.state("lost"), "queued");
  assert.deepEqual(bench.discardedWork, []);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("lost"), "running");
  await queue.cancel("lost");
  await bench.clock.advance(0);
  assert.deepEqual(bench.discardedWork.splice(0), ["lost"]);
  await bench.submit(queue, "parked");
  await queue.stop();
  assert.equal(await bench.state("parked"), "queued");
  assert.deepEqual(bench.discardedWork, []);
  await queue.cancel("parked");
  assert.deepEqual(bench.discardedWork, ["parked"]);
});

test("refuses a job that the trainer does not support on submission, naming the reason and the cure", async (t) => {
  const bench = await Bench.open(t);
  const refusal = async (
    trainer: Partial<TrainerProfile>,
    config: TrainingConfigInput = {},
  ): Promise<unknown> => {
    bench.trainer = { ...embeddedProfile, name: "remote", ...trainer };
    const task = { kind: "rl", config: resolveTrainingConfig(config) } as const;
    const draft = newJob({ id: "x", modelId: "m", task, configNotApplied: [], createdAt: bench.clock.now() });
    const fault = await bench
      .build(twoSteps)
      .submit(draft, [], null)
      .then(
        () => null,
        (error: unknown) => error,
      );
    assert.ok(fault === null || (fault instanceof ServiceError && fault.code === "invalid"), String(fault));
    return fault === null ? null : [fault.faults[0].location.join(), fault.message];
  };
  const [place, message] = (await refusal({ losses: ["cross-entropy"] })) as readonly string[];
  assert.equal(place, "model");
  assert.match(
    message,
    /^Jobs of kind rl need the loss policy, and the trainer .* remote, computes cross-entropy alone/,
  );
  const [option, advice] = (await refusal(
    { hasBasePass: false },
    { klPenaltyCoefficient: 0.1 },
  )) as readonly string[];
  assert.equal(option, "klPenaltyCoefficient");
  assert.match(
    advice,
    /is 0\.1, and the trainer .* remote, does not compute the base .*; leave it out, or set it to 0/,
  );
  // The newest version is the base model itself, so the trainer need not accept adapters.
  assert.equal(await refusal({ takesAdapters: false, hasBasePass: false }), null);
});

test("gives a trainer without adapter support only jobs from versions whose state it keeps itself", async (t) => {
  const bench = await Bench.open(t);
  bench.trainer = { ...embeddedProfile, name: "remote", takesAdapters: false };
  const made =
    (trainerState: string): Run =>
    async () => ({ ...outcome, trainerState });
  const queue = await bench.start([made("remote:a"), made("embedded:b")]);
  for (const id of ["a", "b"]) await bench.submit(queue, id);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["succeeded", "succeeded"]);
  await assert.rejects(
    bench.submit(queue, "c"),
    /keeps no state, and it takes no adapters\. Train a new model, or/,
  );
});

test("removes the trainer states of older versions beyond the limit", async (t) => {
  for (const [optimizerStatesKept, expected] of [
    [1, ["state of a", "state of b"]],
    [2, ["state of a"]],
  ] as const) {
    const bench = await Bench.open(t);
    const queue = await bench.start([withState], { optimizerStatesKept });
    for (const id of ["a", "b", "c"]) await bench.submit(queue, id);
    assert.deepEqual(bench.discardedStates, expected);
    const { items } = await bench.database.models.listVersions("m", { after: null, limit: 9, order: "asc" });
    const withStates = items.filter(({ trainerState }) => trainerState !== null);
    assert.equal(withStates.length, optimizerStatesKept);
  }
});

test("gives a retry the trainer state that its first attempt found", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const seeing =
    (run: Run): Run =>
    async (assignment, ...rest) => {
      seen.push([assignment.from.step, assignment.from.trainerState]);
      return run(assignment, ...rest);
    };
  const queue = await bench.start([withState, seeing(lost), seeing(untilInterrupted)], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  await bench.clock.advance(1000);
  await queue.stop();
  await bench.start([seeing(withState)]);
  await bench.clock.advance(0);
  const found = [1, "state of a"];
  assert.deepEqual(seen, [found, found, found]);
  assert.deepEqual(bench.discardedStates, ["state of a"]);
});

test("lets a job succeed even if older states cannot be removed", async (t) => {
  const bench = await Bench.open(t);
  bench.discardedStates.push = () => assert.fail("the disk does not let go of it");
  const queue = await bench.start([withState]);
  for (const id of ["a", "b", "c"]) await bench.submit(queue, id);
  assert.equal(await bench.state("c"), "succeeded");
});
