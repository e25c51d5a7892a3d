// Runs jobs with the naive trainer. Tests the order of their calls, their reports, and the files that they leave.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { groupOf } from "../../../test/golden-trajectories.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { trainedIndices } from "../trajectories/sequences.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";
import { someGroups, type Given, few, run, Bench, rejectsWith } from "./testing/job-bench.ts";

test("opens, takes a step per batch, publishes and closes, and gives each call its own id", async (t) => {
  const bench = new Bench(t);
  const outcome = await bench.run();
  const steps = bench.steps.flatMap(() => ["forwardBackward", "optimStep"]);
  // A job makes a forward pass before its first step and one after its last step.
  assert.deepEqual(bench.kinds, [
    "open",
    "forward",
    ...steps,
    "forward",
    "exportAdapter",
    "saveState",
    "close",
  ]);
  assert.equal(new Set(bench.trainers.ids).size, bench.trainers.ids.length);
  assert.deepEqual(bench.trainers.calls[0], {
    kind: "open",
    start: { kind: "new", seed: "seed" },
    run: "jobs/job",
  });
  assert.deepEqual(bench.published, ["1"]);
  assert.equal(outcome.adapterFolder, "adapters/m/1");
  assert.equal(outcome.trainerState, "naive:adapters/m/1/naive-state.json");
  assert.equal(bench.steps.length, 3);
});

/** Returns the number of sequences in each step of a job, in order. */
async function stepSizes(
  t: TestContext,
  config: Given["config"],
  batchTokens = 0,
): Promise<readonly number[]> {
  const bench = new Bench(t);
  const settings = { ...pinnedSettings(trainingSettings.with()), batchTokens };
  await bench.run({ config: { ...config }, input: { settings } });
  return bench.trainers.calls.flatMap((call) => (call.kind === "forwardBackward" ? [call.data.length] : []));
}

test("takes a step per sequence, unless the job sets the number or size of steps or the server counts tokens", async (t) => {
  assert.deepEqual(await stepSizes(t, {}), [1, 1, 1, 1]);
  assert.deepEqual(await stepSizes(t, { passCount: 2 }), [1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(await stepSizes(t, { stepCount: 1 }), [4]);
  assert.deepEqual(await stepSizes(t, { stepCount: 2, passCount: 3 }), [2, 2, 2, 2, 2, 2]);
  assert.deepEqual(new Set(await stepSizes(t, { batchSize: 3 })), new Set([3, 1]));
  assert.deepEqual(await stepSizes(t, { packedSequenceLength: 24 }), [1, 1, 1, 1]);
  assert.equal((await stepSizes(t, {}, 12)).length, 3);
  assert.deepEqual(await stepSizes(t, { batchSize: 4 }, 12), [4]);
});

test("reports the number of steps, the number of sequences and the size of each step", async (t) => {
  const bench = new Bench(t);
  const { counts, metrics } = await bench.run({ config: { stepCount: 3, passCount: 2 } });
  assert.deepEqual(counts.steps, { count: 6, passCount: 2, sequencesMax: 2 });
  const { num_sequences, num_gradient_steps, num_passes } = bench.started[0];
  assert.deepEqual([num_sequences, num_gradient_steps, num_passes], [6, 6, 2]);
  assert.equal(bench.started[0]["num_sequences_per_step_max"], 2);
  assert.equal(bench.started[0]["num_trained_sequences"], 4);
  const sizes = bench.steps.map((step) => step["num_datums"]);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    8,
  );
  assert.equal(metrics["data/step_num_datums"], 8 / 6);
});

test("warns of steps that cannot have changed anything", async (t) => {
  const warningsOf = async (config: Given["config"]): Promise<string> => {
    const bench = new Bench(t);
    await bench.run({ config: { ...config } });
    return bench.warnings.join("\n");
  };
  assert.match(
    await warningsOf({ learningRate: 1e-6, batchSize: 1 }),
    /learning rates of its 4 steps sum to 0\.0000040, .* hardly change/,
  );
  assert.match(await warningsOf({ learningRate: 5e-5, stepCount: 1 }), /its one step sum to 0\.000050, /);
  assert.doesNotMatch(await warningsOf({ learningRate: 1e-3, stepCount: 1 }), /hardly change/);
  const cutOff = { maskProbRatio: true, epsilon: 0, epsilonHigh: 0, ppo: true };
  assert.match(await warningsOf(cutOff), /gradient of its 3 steps was 0, so nothing was learned/);
});

test("a job that moves its policy too far says by how much and gives advice, and publishes no version above its limit", async (t) => {
  const run = async (config: Given["config"], klUpdateMax = 0) => {
    const bench = new Bench(t);
    const settings = { ...pinnedSettings(trainingSettings.with()), ...few, klUpdateMax };
    const outcome = await bench.run({ config: { ...config }, input: { settings } }).catch(String);
    const metrics = typeof outcome === "string" ? {} : outcome.metrics;
    const refusal = typeof outcome === "string" ? outcome : null;
    return { moved: metrics["loss/kl_update"], refusal, told: bench.warnings.join("\n"), bench };
  };
  const mild = await run({ learningRate: 1e-3 });
  assert.ok(Math.abs(mild.moved) < 0.1, `moved by ${mild.moved}`);
  assert.doesNotMatch(mild.told, /moved the policy/);
  const wild = await run({ learningRate: 3 });
  assert.ok(wild.moved > 1, `moved by ${wild.moved}`);
  const numbers = `moved the policy by ${wild.moved.toPrecision(3)} nats per token (kl_update) with 3 steps at a learning rate of 3;`;
  assert.ok(wild.told.includes(numbers), wild.told);
  assert.match(
    wild.told,
    /lower learning_rate to about [\d.e-]+, .* To go back to version 0, delete the new version/,
  );
  assert.deepEqual(wild.bench.published, ["1"]);
  for (const limited of [
    await run({ learningRate: 3, klUpdateMax: 0.4 }),
    await run({ learningRate: 3 }, 0.4),
  ]) {
    assert.ok(
      limited.refusal?.includes(`${numbers} its limit is 0.4 (max_kl_update), so it makes no version`),
      limited.refusal ?? "",
    );
    assert.deepEqual(limited.bench.published, []);
  }
  // The limit that the job sets takes precedence over the server's.
  assert.equal((await run({ learningRate: 3, klUpdateMax: 0 }, 0.4)).refusal, null);
  assert.equal((await run({ learningRate: 1e-3, klUpdateMax: 0.4 })).refusal, null);
});

test("a job's own weight decay and gradient norm win over the server's; its rate scales with the step size on request", async (t) => {
  const bench = new Bench(t);
  const config = {
    learningRate: 0.01,
    learningRatePower: 0.5,
    stepCount: 1,
    weightDecay: 0,
    gradientNormMax: 3,
  };
  await bench.run({ config });
  const optimizer = bench.trainers.calls.find((call) => call.kind === "optimStep");
  assert.ok(optimizer?.kind === "optimStep");
  const { learningRate, weightDecay, gradientNormMax } = optimizer.step;
  assert.deepEqual([learningRate, weightDecay, gradientNormMax], [0.02, 0, 3]);
  assert.equal(bench.steps[0]["learning_rate"], 0.02);
});

test("checks sequences from all over the job before the first step, and the same ones after the last", async (t) => {
  for (const config of [{ batchSize: 1 }, { stepCount: 1, passCount: 2 }]) {
    const bench = new Bench(t);
    const { metrics } = await bench.run({ config });
    const looks = bench.trainers.calls.flatMap((call) => (call.kind === "forward" ? [call.data] : []));
    assert.deepEqual(
      looks.map((data) => data.length),
      [4, 4],
    );
    assert.equal(bench.kinds[1], "forward");
    const tokens = looks.map((data) => data.map(({ tokenIds }) => [...tokenIds]));
    assert.deepEqual(tokens[0], tokens[1]);
    assert.ok(metrics["loss/kl_update_k3"] > 0);
  }
});

test("packed_sequence_length is the tokens per step if the server counts tokens, and always the longest sequence", async (t) => {
  const steps = async (packedSequenceLength: number | null): Promise<Bench> => {
    const bench = new Bench(t);
    await bench.run({ config: { packedSequenceLength } });
    return bench;
  };
  assert.equal((await steps(null)).steps.length, 3);
  assert.equal((await steps(24)).steps.length, 1);
  const short = await steps(6);
  const lengths = short.trainers.calls.flatMap((call) =>
    call.kind === "forwardBackward" ? call.data.map(({ tokenIds }) => tokenIds.length) : [],
  );
  assert.deepEqual(new Set(lengths), new Set([5, 6]));
  assert.match(short.warnings.join(), /too_long/);
});

test("a batch knows the groups of its sequences, and its step uses the job's own settings", async (t) => {
  const bench = new Bench(t);
  const settings = {
    ...pinnedSettings(trainingSettings.with()),
    ...few,
    weightDecay: 0.25,
    gradientNormMax: 7,
  };
  await bench.run({ config: { learningRate: 0.02 }, input: { settings } });
  const [, , gradient, optimizer] = bench.trainers.calls;
  assert.ok(gradient.kind === "forwardBackward" && optimizer.kind === "optimStep");
  // The forward pass before the first step omits trajectories that are not trained on, because their reward is their
  // group's mean.
  const [, probe] = bench.trainers.calls;
  assert.ok(probe.kind === "forward");
  assert.equal(probe.data.length, 4);
  assert.deepEqual(new Set(probe.data.map(({ group }) => group)), new Set([0, 1]));
  const { learningRate, weightDecay, gradientNormMax } = optimizer.step;
  assert.deepEqual([learningRate, weightDecay, gradientNormMax], [0.02, 0.25, 7]);
});

test("reports the job's counts with the start and each step, and keeps the means", async (t) => {
  const bench = new Bench(t);
  const { metrics, counts } = await bench.run();
  const expected = {
    num_groups_submitted: 2,
    num_groups_trainable: 2,
    num_trajectories: 6,
    num_trainable_tokens: counts.trainableTokens,
  };
  const stepSizes = {
    num_gradient_steps: 3,
    num_trained_sequences: 4,
    num_sequences_per_step_max: 2,
    num_passes: 1,
  };
  assert.deepEqual(bench.started, [{ num_sequences: 3, ...stepSizes, ...expected }]);
  for (const step of bench.steps) {
    assert.deepEqual({ ...step, ...expected }, step);
    assert.equal(step["learning_rate"], 0.01);
    assert.ok((step["grad_norm"] ?? 0) > 0 && (step["max_logprob_difference"] ?? 0) > 0);
    // The naive trainer reports no entropy, so the step's metrics have none.
    assert.equal("entropy" in step, false);
  }
  const mean = bench.steps.reduce((sum, step) => sum + step["loss"] / 3, 0);
  assert.ok(Math.abs(metrics["loss/train"] - mean) < 1e-12);
  assert.equal("loss/entropy" in metrics, false);
  assert.equal(metrics["loss/first_max_logprob_difference"], bench.steps[0]["max_logprob_difference"]);
  assert.equal(metrics["data/step_num_gradient_steps"], 3);
  assert.equal(metrics["data/step_num_skipped_at_group_mean"], 2);
  // The rewards are 0 to 5. They include those of trajectories that are not used for training.
  assert.equal(metrics["data/reward"], 2.5);
  assert.ok(Math.abs(metrics["data/reward_std_dev"] - Math.sqrt(35 / 12)) < 1e-12);
  assert.ok(Object.values(metrics).every(Number.isFinite));
});

test("only the seed decides the first adapter and the order of the steps", async (t) => {
  const benches = [new Bench(t), new Bench(t), new Bench(t)];
  await benches[0].run();
  await benches[1].run({ input: { runKey: "jobs/another" } });
  await benches[2].run({ input: { seed: "another" } });
  assert.deepEqual(benches[1].bytes(), benches[0].bytes());
  assert.deepEqual(benches[1].steps, benches[0].steps);
  assert.notDeepEqual(benches[2].bytes(), benches[0].bytes());
});

test("precalculated log-probabilities replace the recorded ones, and the first step gives its own", async (t) => {
  const bench = new Bench(t);
  await bench.run({ config: { precalculateLogprobs: true } });
  const step = ["forwardBackward", "optimStep"];
  assert.deepEqual(bench.kinds.slice(0, 9), ["open", "forward", "forward", ...step, ...step, ...step]);
  const gradients = bench.trainers.calls.flatMap((call) =>
    call.kind === "forwardBackward" ? [call.data] : [],
  );
  const trainer = await bench.trainers.open({ kind: "new", seed: "seed" }, run);
  const { signal } = new AbortController();
  for (const [index, data] of gradients.entries()) {
    const { logprobs } = await trainer.forward(data, { id: `check ${index}`, signal });
    data.forEach((sequence, row) => {
      const old = trainedIndices(sequence).map((at) => sequence.oldLogprobs[at]);
      assert.deepEqual(old, index === 0 ? old.map(() => NaN) : [...logprobs[row]]);
      assert.ok(sequence.mask.every((trains, at) => trains === 1 || Number.isNaN(sequence.oldLogprobs[at])));
    });
  }
  assert.equal(bench.steps[0]["loss/importance_ratio_max"], 1);
  assert.ok(bench.steps[1]["loss/importance_ratio_max"] > 1);
  // Even with precalculated log-probabilities, this metric compares the computed log-probabilities with the recorded
  // ones.
  assert.ok(bench.steps[0]["max_logprob_difference"] > 0);
});

test("computes old log-probabilities unasked if serving is quantized, and does not warn of rounding", async (t) => {
  const exact = new Bench(t);
  await exact.run();
  assert.match(exact.warnings.join(), /differ by up to .* rounding explains at most/);
  const bench = new Bench(t);
  const settings = pinnedSettings({ ...trainingSettings.with(), servedPrecision: "8 bits" });
  await bench.run({ input: { settings: { ...settings, ...few } } });
  assert.deepEqual(bench.kinds.slice(1, 4), ["forward", "forward", "forwardBackward"]);
  const [, , , gradient] = bench.trainers.calls;
  assert.ok(gradient.kind === "forwardBackward");
  assert.ok(gradient.data.every(({ oldLogprobs }) => !oldLogprobs.includes(-1)));
  assert.ok(bench.steps[0]["mean_logprob_difference"] <= bench.steps[0]["max_logprob_difference"]);
});

test("precalculates log-probabilities once per sequence, for any number of passes", async (t) => {
  const bench = new Bench(t);
  await bench.run({ config: { precalculateLogprobs: true, batchSize: 1, passCount: 3 } });
  const gradients = bench.trainers.calls.flatMap((call) =>
    call.kind === "forwardBackward" ? call.data : [],
  );
  assert.equal(gradients.length, 12);
  assert.equal(new Set(gradients.map(({ tokenIds }) => tokenIds.join())).size, 4);
  const count = bench.kinds.filter((kind) => kind === "forward").length;
  assert.equal(
    count,
    3 + 1,
    "each sequence of later steps before the first step, and one pass after the last",
  );
  const first = gradients[0].tokenIds.join();
  const again = gradients.slice(1).filter(({ tokenIds }) => tokenIds.join() === first);
  assert.equal(again.length, 2);
  for (const { oldLogprobs } of again) assert.ok(oldLogprobs.some(Number.isFinite));
});

test("a job from the base model takes the log-probabilities of its start as those of the base model", async (t) => {
  const settings = { ...pinnedSettings(trainingSettings.with()), ...few, baseComparisonShare: 1 };
  const bench = new Bench(t);
  const run = async (options: Given["config"], input: Given["input"] = {}) => {
    bench.trainers.calls.length = 0;
    bench.steps.length = 0;
    const config = { precalculateLogprobs: true, ...options };
    const outcome = await bench.run({ config, input: { settings, ...input } });
    const passes = bench.kinds.filter((kind) => kind === "forward of the base").length;
    return { outcome, passes, distances: bench.steps.map((step) => step["kl_policy_ref"]) };
  };
  const first = await run({});
  assert.equal(first.passes, 0);
  assert.equal(first.distances[0], 0);
  const { adapterFolder, trainerState } = first.outcome;
  const from = { adapterFolder, trainerState };
  const second = await run({}, { from, adapterFolder: "adapters/m/2" });
  assert.equal(second.passes, 3);
  assert.ok([...first.distances.slice(1), ...second.distances].every((distance) => Math.abs(distance) > 0));
  // A penalty needs the log-probabilities before the first step, which gives them only afterwards.
  const penalized = await run({ klPenaltyCoefficient: 0.1 }, { adapterFolder: "adapters/m/3" });
  assert.equal(penalized.passes, 1);
});

test("truncated importance sampling weighs each token by the error of its recorded log-probability", async (t) => {
  const bench = new Bench(t);
  await bench.run({ config: { precalculateLogprobs: true, truncatedImportanceSampling: 1.25 } });
  const [, recorded] = bench.trainers.calls;
  const gradient = bench.trainers.calls.find(({ kind }) => kind === "forwardBackward");
  assert.ok(recorded.kind === "forward" && gradient?.kind === "forwardBackward");
  const weights: number[] = [];
  gradient.data.forEach((sequence, row) =>
    trainedIndices(sequence).forEach((at) => {
      const ratio = Math.exp(sequence.oldLogprobs[at] - recorded.data[row].oldLogprobs[at]);
      const expected = Number.isNaN(ratio) ? 1 : Math.min(ratio, 1.25);
      assert.ok(Math.abs((sequence.tokenWeights?.[at] ?? NaN) - expected) < 1e-6);
      weights.push(expected);
    }),
  );
  assert.ok(weights.includes(1.25) && weights.some((weight) => weight < 1.25));
  const plain = new Bench(t);
  await plain.run({ config: { precalculateLogprobs: true } });
  const unweighed = plain.trainers.calls.find(({ kind }) => kind === "forwardBackward");
  assert.ok(unweighed?.kind === "forwardBackward");
  assert.ok(unweighed.data.every(({ tokenWeights }) => tokenWeights === undefined));
});

test("a job without trainable data takes no step and publishes the version it started from", async (t) => {
  const bench = new Bench(t);
  const first = await bench.run();
  const from = { adapterFolder: first.adapterFolder, trainerState: first.trainerState };
  const groups = someGroups().map(({ trajectories }) => groupOf(trajectories.slice(0, 1)));
  bench.trainers.calls.length = 0;
  const input = { from, adapterFolder: "adapters/m/2", seed: "another" };
  const { counts, metrics } = await bench.run({ groups, input });
  assert.deepEqual(bench.kinds, ["open", "exportAdapter", "saveState", "close"]);
  assert.equal(bench.started[1]["num_sequences"], 0);
  assert.deepEqual(counts.skipped, { zero_variance: 2 });
  assert.equal("loss/train" in metrics, false);
  assert.deepEqual(bench.bytes("adapters/m/2"), bench.bytes("adapters/m/1"));
});

test("a cancelled job stops between two steps, publishes nothing and closes its trainer", async (t) => {
  const bench = new Bench(t);
  const aborting = new AbortController();
  const job = bench.run({
    input: { signal: aborting.signal },
    on: { stepped: async ({ index }) => void (index === 1 && aborting.abort()) },
  });
  await assert.rejects(job, rejectsWith("cancelled"));
  assert.deepEqual(bench.kinds.slice(-2), ["forwardBackward", "close"]);
  assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 2);
  assert.deepEqual(bench.published, []);
});

test("a job cancelled after its last step, or during the export, leaves nothing", async (t) => {
  for (const when of ["forward", "exportAdapter"]) {
    const bench = new Bench(t);
    const aborting = new AbortController();
    // Aborts in a step or later, not in the forward pass before the first step.
    bench.trainers.onCall = ({ kind }) =>
      void (kind === when && bench.kinds.includes("optimStep") && aborting.abort());
    await assert.rejects(bench.run({ input: { signal: aborting.signal } }), rejectsWith("cancelled"));
    assert.deepEqual(bench.kinds.slice(-2), [when, "close"]);
    assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 3);
    assert.deepEqual(when === "exportAdapter" ? bench.published : [], []);
  }
});

test("a non-finite loss fails the job with its own message, and publishes nothing", async (t) => {
  const bench = new Bench(t);
  await assert.rejects(bench.run({ config: { learningRate: 1e200 } }), rejectsWith("unsupported"));
  const steps = ["forwardBackward", "optimStep", "forwardBackward"];
  assert.deepEqual(bench.kinds, ["open", "forward", ...steps, "close"]);
  assert.deepEqual(bench.published, []);
});

test("a model broken by its last step becomes no version, and the job names the learning rate", async (t) => {
  const bench = new Bench(t);
  const settings = { ...pinnedSettings(trainingSettings.with()), ...few, batchTokens: 1000 };
  await assert.rejects(
    bench.run({ config: { learningRate: 1e200 }, input: { settings } }),
    /no longer gives finite log-probabilities.*lower the learning rate, which is 1e\+200/,
  );
  assert.deepEqual(bench.kinds, ["open", "forward", "forwardBackward", "optimStep", "forward", "close"]);
  assert.deepEqual(bench.published, []);
});

test("an unreadable version is not blamed on the job, and the message shows no path", async (t) => {
  const from = { adapterFolder: "adapters/m/7", trainerState: null };
  const job = new Bench(t).run({ input: { from, startStep: 7 } });
  await assert.rejects(job, {
    code: "internal",
    message: /^Version 7, which training starts from, cannot be read; [^/]*$/,
  });
});

test("leaves out sequences longer than the limit of the trainer or of the job", async (t) => {
  const settings = { ...pinnedSettings(trainingSettings.with()), sequenceLengthMax: 7 };
  const { counts } = await new Bench(t).run({ input: { settings } });
  assert.equal(counts.skipped["too_long"], 1);
  const longer = { ...settings, sequenceLengthMax: 100 };
  assert.equal(
    (await new Bench(t).run({ input: { settings: longer } })).counts.skipped["too_long"],
    undefined,
  );
});

test("refuses a job that needs too much memory before it reports or computes anything", async (t) => {
  const bench = new Bench(t);
  let batchCount = 0;
  bench.trainers.requireMemory = async (batches) => {
    batchCount = [...batches].length;
    throw new ServiceError({ code: "unsupported", message: "too much" });
  };
  await assert.rejects(bench.run(), rejectsWith("unsupported"));
  assert.deepEqual([batchCount, bench.kinds, bench.started], [3, [], []]);
});

test("an error from a report fails the job", async (t) => {
  const bench = new Bench(t);
  const on = { stepped: () => Promise.reject(new Error("the parent is gone")) };
  await assert.rejects(bench.run({ on }), /the parent is gone/);
  assert.equal(bench.kinds.at(-1), "close");
});
