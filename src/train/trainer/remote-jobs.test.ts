// Tests jobs on a remote trainer, which cannot compute the base model's log-probabilities.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { RemoteServer } from "./testing/remote/remote-server.ts";
import { RemoteTrainers } from "./testing/remote/remote-trainer.ts";
import { Bench, rejectsWith, death, atReport, compared } from "./testing/job-bench.ts";

/** Returns a bench whose trainer is a remote service. */
function remoteBench(t: TestContext): Bench {
  return new Bench(t, (naive) => {
    const elsewhere = mkdtempSync(join(tmpdir(), "hone-elsewhere-"));
    t.after(() => rmSync(elsewhere, { recursive: true }));
    return new RemoteTrainers(new RemoteServer(naive, elsewhere), naive);
  });
}

test("trains without a base pass, says so, and the version continues from a named state", async (t) => {
  const bench = remoteBench(t);
  const { adapterFolder, trainerState } = await bench.run({ input: { settings: compared } });
  assert.equal(bench.kinds.includes("forward of the base"), false);
  const told = /^The trainer remote cannot compute the base model .* its steps have no kl_policy_ref/;
  assert.equal(bench.warnings.filter((warning) => told.test(warning)).length, 1);
  assert.ok(bench.steps.every((step) => !("kl_policy_ref" in step)));
  assert.match(trainerState ?? "", /^remote:remote:\/\/model-\d+\/adapters_m_1-\d+$/);
  const from = { adapterFolder, trainerState };
  bench.steps.length = 0;
  bench.warnings.length = 0;
  await bench.run({
    input: { from, fromKind: "rl", adapterFolder: "adapters/m/2", runKey: "jobs/next" },
  });
  assert.doesNotMatch(bench.warnings.join(), /fresh optimizer/);
  // Both jobs are refused before training starts. This trainer can continue only from its own states, and cannot
  // compute the base model.
  const others = { adapterFolder, trainerState: "embedded:adapters/m/1/optimizer.safetensors" };
  for (const [given, field] of [
    [{ input: { from: others, fromKind: "rl" } }, "model"],
    [{ config: { klPenaltyCoefficient: 0.1 } }, "klPenaltyCoefficient"],
  ] as const) {
    const before = bench.trainers.calls.length;
    await assert.rejects(
      bench.run(given),
      (error) => error instanceof ServiceError && error.faults[0].location[0] === field,
    );
    assert.equal(bench.trainers.calls.length, before);
  }
});

test("a job on a remote trainer continues from the last state a lost attempt kept, and discards the earlier ones", async (t) => {
  const undisturbed = remoteBench(t);
  await undisturbed.run();
  const bench = remoteBench(t);
  const input = { snapshotShare: 1 };
  await assert.rejects(bench.run({ input, on: atReport("saved", 2) }), death);
  bench.trainers.calls.length = 0;
  bench.steps.length = 0;
  await bench.run({ input, on: { stepped: async () => undefined } });
  const [opened] = bench.trainers.calls;
  assert.ok(opened.kind === "open" && opened.start.kind === "state");
  assert.match(opened.start.state, /jobs_job_step-2/);
  assert.equal(opened.run, "jobs/job");
  assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 1);
  assert.deepEqual(bench.bytes(), undisturbed.bytes());
  assert.deepEqual(
    readdirSync(join(bench.dataFolder, "jobs/job")).filter((name) => name.startsWith("step")),
    ["step-2.json"],
  );
});

test("an unreachable trainer costs one attempt, but no snapshot and no version", async (t) => {
  const bench = new Bench(t);
  const input = { snapshotShare: 1 };
  const { adapterFolder, trainerState } = await bench.run();
  const goingOn = {
    ...input,
    from: { adapterFolder, trainerState },
    fromKind: "rl",
    adapterFolder: "adapters/m/2",
    runKey: "jobs/next",
  } as const;
  bench.steps.length = 0;
  await assert.rejects(bench.run({ input: goingOn, on: atReport("saved", 2) }), death);
  bench.trainers.onCall = ({ kind }) => {
    if (kind === "open") throw new ServiceError({ code: "unavailable", message: "nobody answers" });
  };
  for (const given of [{ ...goingOn }, { ...goingOn, runKey: "jobs/other" }])
    await assert.rejects(bench.run({ input: given }), rejectsWith("unavailable"));
  bench.trainers.onCall = () => undefined;
  bench.trainers.calls.length = 0;
  await bench.run({ input: goingOn, on: { stepped: async () => undefined } });
  assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 1, "after the snapshot");
});

test("another trainer starts from the adapter only, and the job says so", async (t) => {
  const bench = new Bench(t);
  const { adapterFolder } = await bench.run();
  const from = { adapterFolder, trainerState: `remote:${adapterFolder}/naive-state.json` };
  bench.trainers.calls.length = 0;
  bench.steps.length = 0;
  await bench.run({
    input: { from, fromKind: "rl", adapterFolder: "adapters/m/2", runKey: "jobs/next" },
  });
  const [opened] = bench.trainers.calls;
  assert.ok(opened.kind === "open" && opened.start.kind === "adapter");
  assert.match(
    bench.warnings.join(),
    /fresh optimizer: its state was kept by the trainer remote, and this one is naive/,
  );
});
