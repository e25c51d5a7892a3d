// Tests the metrics and warnings that a job gives about its policy and its data.
import assert from "node:assert/strict";
import { test } from "node:test";
import { trainedIndices } from "../trajectories/sequences.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";
import { logprobDifference } from "./logprob-difference.ts";
import type { TrainingSequence } from "./trainer.ts";
import { someGroups, few, run, Bench } from "./testing/job-bench.ts";

test("measures how far a job moved its policy even without recorded log-probabilities", async (t) => {
  const bench = new Bench(t);
  const groups = someGroups().map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => ({
      ...trajectory,
      messagesAndChoices: trajectory.messagesAndChoices.map((item) => ({ ...item, logprobs: null })),
    })),
  }));
  const { metrics } = await bench.run({ groups, config: { learningRate: 3 } });
  const moved = metrics["loss/kl_update_k3"];
  assert.ok(moved > 0.1, `moved by ${moved}`);
  assert.equal("loss/kl_div" in metrics, false);
});

test("warns of cut-off answers and of data that cannot teach, with their numbers", async (t) => {
  const told = async (
    change: (index: number) => {
      readonly reward?: number;
      readonly ids?: readonly number[];
      readonly end?: string;
    },
  ) => {
    const bench = new Bench(t);
    let index = 0;
    const groups = someGroups().map((group) => ({
      ...group,
      trajectories: group.trajectories.map((trajectory) => {
        const { reward = trajectory.reward, ids, end = "stop" } = change(index++);
        const messagesAndChoices = trajectory.messagesAndChoices.map((item) => ({
          ...item,
          finish_reason: end,
          ...(ids && { token_ids: ids, logprobs: null }),
        }));
        return { ...trajectory, reward, messagesAndChoices };
      }),
    }));
    const { metrics } = await bench.run({ groups });
    return { metrics, warnings: bench.warnings.join("\n") };
  };
  const cut = await told((index) => ({ end: index < 4 ? "length" : "stop" }));
  assert.match(
    cut.warnings,
    /^10 of 14 answers \(71 %\) were cut off at their token limit .* Raise max_completion_tokens/m,
  );
  assert.ok(cut.metrics["completions/clipped_ratio"] > 0.4);
  assert.ok(cut.metrics["completions/max_length"] >= cut.metrics["completions/mean_length"]);
  const whole = await told(() => ({}));
  assert.doesNotMatch(whole.warnings, /cut off|nothing trains/);
  assert.equal(whole.metrics["completions/clipped_ratio"], 0);
  const flat = await told(() => ({ reward: 0 }));
  assert.match(
    flat.warnings,
    /^All 6 answers got the reward 0, so nothing trains\. The tasks are too hard .* or it has learned them/m,
  );
  const collapsed = await told((index) => ({ reward: index < 3 ? 0.4 : 1, ids: [1, 2, 3] }));
  assert.match(
    collapsed.warnings,
    /^Answers got a reward of 0\.7 on average, equal within each group, so nothing trains\. 6 of 6 answers to 2 groups are the same\. .* the policy has collapsed: go back to an earlier version/m,
  );
});

test("each step reports the distance to the sampling policy and to the base model, and the data's age", async (t) => {
  const bench = new Bench(t);
  const versions = [2, 4, 5];
  const groups = someGroups().map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory, index) => ({
      ...trajectory,
      initialPolicyVersion: versions[index],
      finalPolicyVersion: 5,
    })),
  }));
  const settings = { ...pinnedSettings(trainingSettings.with()), ...few, baseComparisonShare: 0.5 };
  const { metrics } = await bench.run({ groups, input: { settings, startStep: 5 } });
  const compared = bench.trainers.calls.flatMap((call) =>
    call.kind === "forward of the base" ? [call.data] : [],
  );
  const tokens = compared.flat().reduce((count, { tokenIds }) => count + tokenIds.length, 0);
  const [, ...steps] = bench.trainers.calls.filter(({ kind }) => kind !== "forward of the base");
  const all = steps.flatMap((call) => (call.kind === "forwardBackward" ? call.data : []));
  assert.ok(tokens > 0 && tokens <= all.reduce((count, { tokenIds }) => count + tokenIds.length, 0) / 2);
  const comparing = bench.steps.filter((step) => "kl_policy_ref" in step);
  assert.equal(comparing.length, compared.length);
  // Before the first step, the policy equals the base model, so only later steps have a distance above 0.
  assert.deepEqual(
    comparing.map((step) => (step["loss/kl_policy_ref_k3"] ?? 0) > 0),
    comparing.map((step) => step !== bench.steps[0]),
  );
  for (const step of bench.steps) {
    assert.ok((step["kl_div"] ?? 0) > 0);
    assert.ok((step["loss/importance_ratio_max"] ?? 0) >= (step["loss/importance_ratio_p95"] ?? Infinity));
    assert.ok((step["offpolicy/policy_staleness_max"] ?? 99) <= 3);
  }
  // Only the first trajectory of each group is used for training. It comes from version 2, while training starts from
  // version 5.
  assert.equal(metrics["offpolicy/policy_staleness_max"], 3);
  const meanOf = (name: string): number =>
    bench.steps.reduce((sum, step) => sum + (step[name] ?? NaN) / bench.steps.length, 0);
  for (const name of ["loss/importance_ratio_mean", "loss/clipped_token_fraction", "loss/kl_div_k1"])
    assert.ok(Math.abs((metrics[name] ?? NaN) - meanOf(name)) < 1e-12, name);
  assert.ok(Math.abs((metrics["loss/kl_div"] ?? NaN) - meanOf("kl_div")) < 1e-12);
  // The version's mean covers only the steps that report this metric.
  const sum = comparing.reduce((total, step) => total + (step["kl_policy_ref"] ?? NaN), 0);
  assert.ok(Math.abs((metrics["loss/kl_policy_ref"] ?? NaN) - sum / comparing.length) < 1e-12);
});

test("warns once of recorded log-probabilities that serving cannot have given", async (t) => {
  const bench = new Bench(t);
  await bench.run();
  const [, probe] = bench.trainers.calls;
  assert.ok(probe.kind === "forward");
  const trainer = await bench.trainers.open({ kind: "new", seed: "seed" }, run);
  const computed = await trainer.forward(probe.data, { id: "check", signal: new AbortController().signal });
  const difference = logprobDifference(probe.data, computed).nats;
  assert.ok(difference > 0.05, "the recorded ones are made up");
  assert.equal(bench.warnings.length, 1);
  assert.match(bench.warnings[0], /trajectory_groups\.\d\.trajectories\.\d.* Its tokens are exact/);
  assert.ok(bench.warnings[0].includes(`${difference.toPrecision(3)} nats`));
  const unrecorded = new Bench(t);
  const groups = someGroups().map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => ({
      ...trajectory,
      messagesAndChoices: trajectory.messagesAndChoices.map((item) => ({ ...item, logprobs: null })),
    })),
  }));
  await unrecorded.run({ groups });
  assert.deepEqual(unrecorded.warnings, []);
});

test("warns before the first step of data that does not train, and repeats the warning unchanged", async (t) => {
  const bench = new Bench(t);
  const [group, ...others] = someGroups();
  const bare = { finish_reason: "stop", message: { role: "assistant", content: "" } };
  const trajectories = group.trajectories.map((trajectory) => ({
    ...trajectory,
    messagesAndChoices: [...trajectory.messagesAndChoices, bare],
  }));
  const seen: (readonly string[])[] = [];
  const on = { stepped: async () => void seen.push([...bench.warnings]) };
  const { counts } = await bench.run({ groups: [{ ...group, trajectories }, ...others], on });
  assert.deepEqual(counts.skipped, { choice_without_tokens: 2, at_group_mean: 2 });
  assert.deepEqual(counts.skippedGroups, { choice_without_tokens: 1, at_group_mean: 2 });
  assert.match(seen[0][0], /^choice_without_tokens: of 2 trajectories in 1 group /);
  const again = new Bench(t);
  await again.run({ groups: [{ ...group, trajectories }, ...others] });
  assert.deepEqual(again.warnings, bench.warnings);
});

test("with a KL penalty, each step compares with the base model, from any start", async (t) => {
  const bench = new Bench(t);
  const first = await bench.run({ config: { klPenaltyCoefficient: 0.1 } });
  const steps = bench.steps.flatMap(() => ["forward of the base", "forwardBackward", "optimStep"]);
  assert.deepEqual(bench.kinds, [
    "open",
    "forward",
    ...steps,
    "forward",
    "exportAdapter",
    "saveState",
    "close",
  ]);
  const [, , , gradient] = bench.trainers.calls;
  assert.ok(gradient.kind === "forwardBackward");
  const referencesOf = (data: readonly TrainingSequence[]): readonly number[] =>
    data.flatMap((sequence) =>
      trainedIndices(sequence).map((index) => sequence.referenceLogprobs?.[index] ?? NaN),
    );
  const base = await bench.trainers.open({ kind: "new", seed: "seed" }, run);
  const { logprobs } = await base.forward(gradient.data, {
    id: "check",
    signal: new AbortController().signal,
  });
  assert.deepEqual(
    referencesOf(gradient.data),
    logprobs.flatMap((values) => [...values]),
  );
  bench.trainers.calls.length = 0;
  bench.steps.length = 0;
  const { adapterFolder, trainerState } = first;
  const later = { from: { adapterFolder, trainerState }, adapterFolder: "adapters/m/2" };
  await bench.run({ config: { klPenaltyCoefficient: 0.1 }, input: later });
  const again = bench.trainers.calls[3];
  assert.ok(again.kind === "forwardBackward");
  assert.deepEqual(referencesOf(again.data), referencesOf(gradient.data));
});
