// The story of a job on the naive trainer: what is asked of it in which order, what is reported, and what is left behind.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dataFolderAt } from "../../store/artifacts/testing/data-folder.ts";
import { groupOf, trajectoryOf } from "../../../test/golden-trajectories.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { searchedOf } from "../../base/domain/testing/search.ts";
import type { JobOutcome } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { trainedIndices } from "../trajectories/sequences.ts";
import { tinyBatch, tinyConfig, tinyLora, tinyWeights } from "./contract/tiny-model.ts";
import { type TrainingJobDependencies, type TrainingJobInput, runTrainingJob } from "./run-training-job.ts";
import { pinnedSettings, trainingSettings } from "./settings.ts";
import { logprobDifference } from "./logprob-difference.ts";
import type { TrainerProvider, TrainingSequence } from "./trainer.ts";
import { NaiveTrainers } from "./testing/naive-trainer.ts";
import { RecordingTrainers } from "./testing/recording-trainers.ts";
import { RemoteServer } from "./testing/remote/remote-server.ts";
import { RemoteTrainers } from "./testing/remote/remote-trainer.ts";
import { linesOf } from "./testing/lines-of.ts";
import { type SeenEvents, silentReport } from "./testing/silent-report.ts";

/** Every trajectory carries its tokens: nothing has to be rendered. */
const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  renderTurn: () => assert.fail("nothing to render"),
  idOfToken: () => null,
};

/** Two groups of the contract's sequences; 12 computed tokens a batch make three steps of them. */
function someGroups(): readonly TrajectoryGroup[] {
  const trajectories = tinyBatch().map((sequence, index) =>
    trajectoryOf({
      token_ids: [...sequence.tokenIds],
      assistant_mask: [...sequence.mask],
      old_logprobs: [...sequence.oldLogprobs].map((value) => (Number.isNaN(value) ? null : value)),
      group: sequence.group,
      reward: index,
    }),
  );
  return [groupOf(trajectories.slice(0, 3)), groupOf(trajectories.slice(3))];
}

interface Given {
  readonly groups?: readonly TrajectoryGroup[];
  readonly config?: Parameters<typeof resolveTrainingConfig>[0];
  readonly input?: Partial<TrainingJobInput>;
  readonly on?: SeenEvents;
}

/** Three steps of the groups, none compared with the base model. */
const few = { batchTokens: 12, baseComparisonShare: 0 };

const run = { id: "check", signal: new AbortController().signal };

/** A data folder, a trainer that is recorded, and all that a job reported. */
class Bench {
  readonly dataFolder = mkdtempSync(join(tmpdir(), "hone-job-"));
  readonly trainers: RecordingTrainers;
  readonly started: Readonly<Record<string, number>>[] = [];
  readonly steps: Readonly<Record<string, number>>[] = [];
  readonly warnings: string[] = [];

  constructor(t: TestContext, make: (naive: NaiveTrainers) => TrainerProvider = (naive) => naive) {
    t.after(() => rmSync(this.dataFolder, { recursive: true }));
    const options = { config: tinyConfig, weights: tinyWeights, lora: tinyLora, sequenceLengthMax: 10 };
    this.trainers = new RecordingTrainers(
      make(new NaiveTrainers({ ...options, dataFolder: this.dataFolder })),
    );
  }

  run({ groups = someGroups(), config = {}, input = {}, on = {} }: Given = {}): Promise<JobOutcome> {
    const report = silentReport({
      started: async ({ metrics }) => void this.started.push(metrics),
      stepped: async ({ index, metrics }) => {
        assert.equal(index, this.steps.length);
        this.steps.push(metrics);
      },
      warned: async ({ warning }) => void this.warnings.push(warning),
      ...on,
    });
    const { artifacts } = dataFolderAt(this.dataFolder);
    const { runKey = "jobs/job" } = input;
    return runTrainingJob(
      { trainers: this.trainers, artifacts, tokenizer, report, clock: new FakeClock() },
      {
        seed: "seed",
        startStep: 0,
        work: {
          kind: "rl",
          config: resolveTrainingConfig({ learningRate: 0.01, ...config }),
          groups: linesOf(groups),
        },
        settings: { ...pinnedSettings(trainingSettings.with()), ...few },
        from: null,
        fromHash: null,
        base: "weights",
        fromKind: null,
        adapterFolder: "adapters/m/1",
        runKey,
        workFolder: join(this.dataFolder, runKey),
        snapshotShare: 0,
        reportedStepCount: 0,
        signal: new AbortController().signal,
        ...input,
      },
    );
  }

  get kinds(): readonly string[] {
    return this.trainers.calls.map(({ kind }) => kind);
  }

  /** All that lies in the model's folder, whole or not. */
  get published(): readonly string[] {
    const folders = ["adapters/m", "work/server"].map((name) => join(this.dataFolder, name));
    return folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  }

  stateBytes(): Buffer {
    return readFileSync(join(this.dataFolder, "adapters/m/1/naive-state.json"));
  }

  bytes(adapterFolder = "adapters/m/1"): Buffer {
    return readFileSync(join(this.dataFolder, adapterFolder, "adapter_model.safetensors"));
  }
}

function rejectsWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("opens, takes a step per batch, publishes and closes, each call with an id of its own", async (t) => {
  const bench = new Bench(t);
  const outcome = await bench.run();
  const steps = bench.steps.flatMap(() => ["forwardBackward", "optimStep"]);
  // One look before the first step, one at what comes of the last.
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

/** How many sequences each step of a job was computed of, in their order. */
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

test("takes a step for every sequence, unless the job says how many steps, or how large, or the server counts tokens", async (t) => {
  assert.deepEqual(await stepSizes(t, {}), [1, 1, 1, 1]);
  assert.deepEqual(await stepSizes(t, { passCount: 2 }), [1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(await stepSizes(t, { stepCount: 1 }), [4]);
  assert.deepEqual(await stepSizes(t, { stepCount: 2, passCount: 3 }), [2, 2, 2, 2, 2, 2]);
  assert.deepEqual(new Set(await stepSizes(t, { batchSize: 3 })), new Set([3, 1]));
  assert.deepEqual(await stepSizes(t, { packedSequenceLength: 24 }), [1, 1, 1, 1]);
  assert.equal((await stepSizes(t, {}, 12)).length, 3);
  assert.deepEqual(await stepSizes(t, { batchSize: 4 }, 12), [4]);
});

test("says how many steps it takes over what, and how large each was", async (t) => {
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

test("a job that moves its policy too far says by how much and what to do, and makes no version above its limit", async (t) => {
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
  const numbers = `moved the policy by ${wild.moved.toPrecision(3)} nats a token (kl_update) with 3 steps at a learning rate of 3;`;
  assert.ok(wild.told.includes(numbers), wild.told);
  assert.match(
    wild.told,
    /lower learning_rate to [\d.e-]+ or so, .* To go back to version 0, delete the new version/,
  );
  assert.deepEqual(wild.bench.published, ["1"]);
  for (const limited of [
    await run({ learningRate: 3, klUpdateMax: 0.4 }),
    await run({ learningRate: 3 }, 0.4),
  ]) {
    assert.ok(
      limited.refusal?.includes(`${numbers} its limit is 0.4 (max_kl_update), so no version is made`),
      limited.refusal ?? "",
    );
    assert.deepEqual(limited.bench.published, []);
  }
  // A job's own limit wins over the server's.
  assert.equal((await run({ learningRate: 3, klUpdateMax: 0 }, 0.4)).refusal, null);
  assert.equal((await run({ learningRate: 1e-3, klUpdateMax: 0.4 })).refusal, null);
});

test("how far a job moved its policy is known too where nothing was recorded", async (t) => {
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

test("answers that were cut off, and data that cannot teach, are warned of with their numbers", async (t) => {
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
    /^All 6 answers earned 0, so that nothing trains\. The tasks are too hard .* or it has learned them/m,
  );
  const collapsed = await told((index) => ({ reward: index < 3 ? 0.4 : 1, ids: [1, 2, 3] }));
  assert.match(
    collapsed.warnings,
    /^Answers earned 0\.7 on average, each as much as the others of its group, so that nothing trains\. 6 of 6 answers to 2 groups are the same\. .* the policy has collapsed: go back to an earlier version/m,
  );
});

test("a job's own weight decay and norm win over the server's; its rate grows with the sequences of a step where it says so", async (t) => {
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

test("looks at sequences from all over the job before the first step, and at the same ones after the last", async (t) => {
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

test("where the server counts tokens, packed_sequence_length is the tokens of a step; it is always the longest sequence", async (t) => {
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

test("a batch knows the groups of its sequences, and its step goes by the job's own numbers", async (t) => {
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
  // Trajectories at the mean of their group train nothing.
  const [, probe] = bench.trainers.calls;
  assert.ok(probe.kind === "forward");
  assert.equal(probe.data.length, 4);
  assert.deepEqual(new Set(probe.data.map(({ group }) => group)), new Set([0, 1]));
  const { learningRate, weightDecay, gradientNormMax } = optimizer.step;
  assert.deepEqual([learningRate, weightDecay, gradientNormMax], [0.02, 0.25, 7]);
});

test("reports the job's counts with the start and every step, and keeps the means", async (t) => {
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
    // The naive trainer reports no entropy, and none is made up.
    assert.equal("entropy" in step, false);
  }
  const mean = bench.steps.reduce((sum, step) => sum + step["loss"] / 3, 0);
  assert.ok(Math.abs(metrics["loss/train"] - mean) < 1e-12);
  assert.equal("loss/entropy" in metrics, false);
  assert.equal(metrics["loss/first_max_logprob_difference"], bench.steps[0]["max_logprob_difference"]);
  assert.equal(metrics["data/step_num_gradient_steps"], 3);
  assert.equal(metrics["data/step_num_skipped_at_group_mean"], 2);
  // Rewards of 0 to 5, those that do not train included.
  assert.equal(metrics["data/reward"], 2.5);
  assert.ok(Math.abs(metrics["data/reward_std_dev"] - Math.sqrt(35 / 12)) < 1e-12);
  assert.ok(Object.values(metrics).every(Number.isFinite));
});

test("each step says how far the policy is from the one that sampled, from the base model, and how old the data is", async (t) => {
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
  // Nothing has moved before the first step.
  assert.deepEqual(
    comparing.map((step) => (step["loss/kl_policy_ref_k3"] ?? 0) > 0),
    comparing.map((step) => step !== bench.steps[0]),
  );
  for (const step of bench.steps) {
    assert.ok((step["kl_div"] ?? 0) > 0);
    assert.ok((step["loss/importance_ratio_max"] ?? 0) >= (step["loss/importance_ratio_p95"] ?? Infinity));
    assert.ok((step["offpolicy/policy_staleness_max"] ?? 99) <= 3);
  }
  // The first of each group train, and training has gone on for three versions since.
  assert.equal(metrics["offpolicy/policy_staleness_max"], 3);
  const meanOf = (name: string): number =>
    bench.steps.reduce((sum, step) => sum + (step[name] ?? NaN) / bench.steps.length, 0);
  for (const name of ["loss/importance_ratio_mean", "loss/clipped_token_fraction", "loss/kl_div_k1"])
    assert.ok(Math.abs((metrics[name] ?? NaN) - meanOf(name)) < 1e-12, name);
  assert.ok(Math.abs((metrics["loss/kl_div"] ?? NaN) - meanOf("kl_div")) < 1e-12);
  // Over the steps that have it.
  const sum = comparing.reduce((total, step) => total + (step["kl_policy_ref"] ?? NaN), 0);
  assert.ok(Math.abs((metrics["loss/kl_policy_ref"] ?? NaN) - sum / comparing.length) < 1e-12);
});

test("recorded log-probabilities that serving cannot have given are warned of, once", async (t) => {
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

test("what does not train is warned of before the first step, and told again alike", async (t) => {
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

test("the seed decides the first adapter and the order of the steps, and nothing else does", async (t) => {
  const benches = [new Bench(t), new Bench(t), new Bench(t)];
  await benches[0].run();
  await benches[1].run({ input: { runKey: "jobs/another" } });
  await benches[2].run({ input: { seed: "another" } });
  assert.deepEqual(benches[1].bytes(), benches[0].bytes());
  assert.deepEqual(benches[1].steps, benches[0].steps);
  assert.notDeepEqual(benches[2].bytes(), benches[0].bytes());
});

test("precalculated log-probabilities take the place of the recorded ones before the first step", async (t) => {
  const bench = new Bench(t);
  await bench.run({ config: { precalculateLogprobs: true } });
  const forwards = ["forward", "forward", "forward"];
  assert.deepEqual(bench.kinds.slice(0, 5), ["open", ...forwards, "forwardBackward"]);
  const [, recorded] = bench.trainers.calls;
  const gradient = bench.trainers.calls[4];
  assert.ok(recorded.kind === "forward" && gradient.kind === "forwardBackward");
  const trainer = await bench.trainers.open({ kind: "new", seed: "seed" }, run);
  const { signal } = new AbortController();
  const { logprobs } = await trainer.forward(recorded.data, { id: "check", signal });
  gradient.data.forEach((sequence, row) => {
    const old = trainedIndices(sequence).map((index) => sequence.oldLogprobs[index]);
    assert.deepEqual(old, [...logprobs[row]]);
    assert.ok(sequence.oldLogprobs.every((value, at) => Number.isNaN(value) === (sequence.mask[at] === 0)));
  });
  // The difference is still that to what was recorded.
  assert.ok(bench.steps[0]["max_logprob_difference"] > 0);
});

test("where serving computes with fewer bits, old log-probabilities are computed unasked, and rounding is no warning", async (t) => {
  const exact = new Bench(t);
  await exact.run();
  assert.match(exact.warnings.join(), /differ by up to .* is the most that rounding explains/);
  const bench = new Bench(t);
  const settings = pinnedSettings({ ...trainingSettings.with(), servedPrecision: "8 bits" });
  await bench.run({ input: { settings: { ...settings, ...few } } });
  assert.deepEqual(bench.kinds.slice(1, 5), ["forward", "forward", "forward", "forwardBackward"]);
  const [, , , , gradient] = bench.trainers.calls;
  assert.ok(gradient.kind === "forwardBackward");
  assert.ok(gradient.data.every(({ oldLogprobs }) => !oldLogprobs.includes(-1)));
  assert.ok(bench.steps[0]["mean_logprob_difference"] <= bench.steps[0]["max_logprob_difference"]);
});

test("precalculated log-probabilities are computed once for each sequence, however many passes there are", async (t) => {
  const bench = new Bench(t);
  await bench.run({ config: { precalculateLogprobs: true, batchSize: 1, passCount: 3 } });
  const gradients = bench.trainers.calls.flatMap((call) =>
    call.kind === "forwardBackward" ? call.data : [],
  );
  assert.equal(gradients.length, 12);
  assert.equal(new Set(gradients.map(({ tokenIds }) => tokenIds.join())).size, 4);
  const count = bench.kinds.filter((kind) => kind === "forward").length;
  assert.equal(count, 4 + 1, "each sequence before the first step, and one look behind the last");
});

test("truncated importance sampling weighs each token by how far the recorded log-probability was off", async (t) => {
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

test("with a KL penalty every step compares with the base model, whatever the job starts from", async (t) => {
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

test("a job in which nothing can train takes no step and publishes what it started from", async (t) => {
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

test("a job that is cancelled after its last step, or while it is exported, leaves nothing behind", async (t) => {
  for (const when of ["forward", "exportAdapter"]) {
    const bench = new Bench(t);
    const aborting = new AbortController();
    // Not the look before the first step.
    bench.trainers.onCall = ({ kind }) =>
      void (kind === when && bench.kinds.includes("optimStep") && aborting.abort());
    await assert.rejects(bench.run({ input: { signal: aborting.signal } }), rejectsWith("cancelled"));
    assert.deepEqual(bench.kinds.slice(-2), [when, "close"]);
    assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 3);
    assert.deepEqual(when === "exportAdapter" ? bench.published : [], []);
  }
});

test("a loss that is not finite ends the job in its own words, and nothing is published", async (t) => {
  const bench = new Bench(t);
  await assert.rejects(bench.run({ config: { learningRate: 1e200 } }), rejectsWith("unsupported"));
  const steps = ["forwardBackward", "optimStep", "forwardBackward"];
  assert.deepEqual(bench.kinds, ["open", "forward", ...steps, "close"]);
  assert.deepEqual(bench.published, []);
});

test("a model that its last step broke becomes no version, and the job names the learning rate", async (t) => {
  const bench = new Bench(t);
  const settings = { ...pinnedSettings(trainingSettings.with()), ...few, batchTokens: 1000 };
  await assert.rejects(
    bench.run({ config: { learningRate: 1e200 }, input: { settings } }),
    /does not give finite log-probabilities any more.*lower the learning rate, which is 1e\+200/,
  );
  assert.deepEqual(bench.kinds, ["open", "forward", "forwardBackward", "optimStep", "forward", "close"]);
  assert.deepEqual(bench.published, []);
});

test("a version that cannot be read is not blamed on the job, and no path is shown", async (t) => {
  const from = { adapterFolder: "adapters/m/7", trainerState: null };
  const job = new Bench(t).run({ input: { from, startStep: 7 } });
  await assert.rejects(job, {
    code: "internal",
    message: /^Version 7, which training starts from, cannot be read; [^/]*$/,
  });
});

test("sequences longer than the trainer or the job takes are left out", async (t) => {
  const settings = { ...pinnedSettings(trainingSettings.with()), sequenceLengthMax: 7 };
  const { counts } = await new Bench(t).run({ input: { settings } });
  assert.equal(counts.skipped["too_long"], 1);
  const longer = { ...settings, sequenceLengthMax: 100 };
  assert.equal(
    (await new Bench(t).run({ input: { settings: longer } })).counts.skipped["too_long"],
    undefined,
  );
});

test("a job that would need too much memory is refused before anything is reported or computed", async (t) => {
  const bench = new Bench(t);
  let batchCount = 0;
  bench.trainers.requireMemory = async (batches) => {
    batchCount = [...batches].length;
    throw new ServiceError({ code: "unsupported", message: "too much" });
  };
  await assert.rejects(bench.run(), rejectsWith("unsupported"));
  assert.deepEqual([batchCount, bench.kinds, bench.started], [3, [], []]);
});

test("what a report throws ends the job", async (t) => {
  const bench = new Bench(t);
  const on = { stepped: () => Promise.reject(new Error("the parent is gone")) };
  await assert.rejects(bench.run({ on }), /the parent is gone/);
  assert.equal(bench.kinds.at(-1), "close");
});

const death = new Error("the process died");

/** Dies when a report is made for the given time, counted from 1. */
function atReport(name: "stepped" | "saved", wanted: number): SeenEvents {
  let count = 0;
  const die = async (): Promise<void> => {
    if (++count === wanted) throw death;
  };
  // That nothing is kept is said first.
  return name === "stepped"
    ? { stepped: die }
    : { saved: ({ stepCount }) => (stepCount > 0 ? die() : Promise.resolve()) };
}

/** Dies in the trainer's call of that kind, counted from 1: nothing behind it is reported either. */
function inCall(bench: Bench, kind: string, wanted: number): SeenEvents {
  let count = 0;
  bench.trainers.onCall = (call) => {
    if (call.kind === kind && ++count === wanted) throw death;
  };
  return { noted: () => Promise.reject(death) };
}

/** Each way in which an attempt at a job of three steps may be lost, and how many of them are then kept. */
const deaths: readonly (readonly [when: string, kept: number, on: (bench: Bench) => SeenEvents])[] = [
  ["before the first step", 0, (bench) => inCall(bench, "forwardBackward", 1)],
  ["before the first step is told", 0, () => atReport("stepped", 1)],
  ["while the first snapshot is written", 0, (bench) => inCall(bench, "saveState", 1)],
  ["behind the first snapshot", 1, () => atReport("saved", 1)],
  ["in the second step", 1, (bench) => inCall(bench, "optimStep", 2)],
  ["while the second snapshot is written", 1, (bench) => inCall(bench, "saveState", 2)],
  ["behind the second snapshot", 2, () => atReport("saved", 2)],
  ["before the last step is told", 2, () => atReport("stepped", 3)],
  ["while the version is written", 2, (bench) => inCall(bench, "exportAdapter", 1)],
  ["while the version's state is saved", 2, (bench) => inCall(bench, "saveState", 3)],
];

for (const precalculateLogprobs of [false, true]) {
  const withWhat = precalculateLogprobs ? "precalculated" : "recorded";
  test(`an attempt goes on behind the last step that a lost one kept, with ${withWhat} log-probabilities, to the same version`, async (t) => {
    const config = { precalculateLogprobs };
    const undisturbed = new Bench(t);
    const expected = await undisturbed.run({ config });
    for (const [when, keptCount, on] of searchedOf(deaths, 2, withWhat)) {
      const bench = new Bench(t);
      const input = { snapshotShare: 1 };
      await assert.rejects(bench.run({ config, input, on: on(bench) }), death);
      bench.trainers.onCall = () => undefined;
      bench.trainers.calls.length = 0;
      const seen: { steps: Readonly<Record<string, number>>[]; saved: number[] } = { steps: [], saved: [] };
      const outcome = await bench.run({
        config,
        input,
        on: {
          stepped: async ({ metrics }) => void seen.steps.push(metrics),
          saved: async ({ stepCount }) => void seen.saved.push(stepCount),
        },
      });
      const count = bench.kinds.filter((kind) => kind === "optimStep").length;
      assert.equal(count, 3 - keptCount, `${when}: ${count} steps were taken again`);
      assert.deepEqual(seen.steps, undisturbed.steps, when);
      assert.equal(seen.saved[0], keptCount, when);
      assert.deepEqual(outcome, expected, when);
      assert.deepEqual(bench.bytes(), undisturbed.bytes(), when);
      assert.deepEqual(bench.stateBytes(), undisturbed.stateBytes(), when);
      assert.deepEqual([...new Set(bench.warnings)], undisturbed.warnings, when);
    }
  });
}

test("steps whose reports are stored are not told again by the attempt that goes on behind them", async (t) => {
  const bench = new Bench(t);
  const input = { snapshotShare: 1, reportedStepCount: 1 };
  await assert.rejects(bench.run({ input, on: atReport("saved", 2) }), death);
  const reported: number[] = [];
  await bench.run({ input, on: { stepped: async ({ index }) => void reported.push(index) } });
  assert.deepEqual(reported, [1, 2]);
});

test("a snapshot that cannot be gone on from costs the steps before it, and nothing else", async (t) => {
  const undisturbed = new Bench(t);
  await undisturbed.run();
  const damages: readonly ((snapshot: string) => void)[] = [
    (snapshot) => truncateSync(join(snapshot, "naive-state.json"), 100),
    (snapshot) => rmSync(join(snapshot, "naive-state.json")),
    (snapshot) => truncateSync(`${snapshot}.json`, 10),
  ];
  for (const damage of damages) {
    const bench = new Bench(t);
    const input = { snapshotShare: 1 };
    await assert.rejects(bench.run({ input, on: atReport("saved", 2) }), death);
    damage(join(bench.dataFolder, "jobs/job/step-2"));
    const notes: string[] = [];
    const on: SeenEvents = {
      stepped: async () => undefined,
      noted: async ({ message }) => void notes.push(message),
    };
    await bench.run({ input, on });
    assert.equal(notes.length, 1, notes.join());
    assert.deepEqual(bench.bytes(), undisturbed.bytes());
  }
});

test("a snapshot that cannot be written is left out, and the job goes on", async (t) => {
  const undisturbed = new Bench(t);
  await undisturbed.run();
  const bench = new Bench(t);
  const notes: string[] = [];
  const obstruct = async (): Promise<void> => {
    const jobs = join(bench.dataFolder, "jobs");
    rmSync(jobs, { recursive: true });
    // Where the job's folder would be.
    writeFileSync(jobs, "");
  };
  await bench.run({
    input: { snapshotShare: 1 },
    on: { started: obstruct, noted: async ({ message }) => void notes.push(message) },
  });
  assert.equal(notes.length, 3);
  assert.match(notes[0], /^checked-logprobs could not be kept: /);
  assert.match(notes[1], /^No snapshot was made after step 1: /);
  assert.deepEqual(bench.bytes(), undisturbed.bytes());
});

/** The job's trainer is a service elsewhere. */
function remoteBench(t: TestContext): Bench {
  return new Bench(t, (naive) => {
    const elsewhere = mkdtempSync(join(tmpdir(), "hone-elsewhere-"));
    t.after(() => rmSync(elsewhere, { recursive: true }));
    return new RemoteTrainers(new RemoteServer(naive, elsewhere), naive);
  });
}

const compared = { ...pinnedSettings(trainingSettings.with()), ...few, baseComparisonShare: 0.5 };

test("a job trains where there is no base pass, says so, and its version goes on from a state by name", async (t) => {
  const bench = remoteBench(t);
  const { adapterFolder, trainerState } = await bench.run({ input: { settings: compared } });
  assert.equal(bench.kinds.includes("forward of the base"), false);
  const told = /^The trainer remote does not compute the base model .* its steps have no kl_policy_ref/;
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
  // What another trainer would do with it is not tried: of the adapter alone this one makes nothing.
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

test("a job on a trainer elsewhere goes on behind the last state that a lost attempt kept, and gives up those before", async (t) => {
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

test("a trainer that cannot be reached costs an attempt, and neither a snapshot nor the version", async (t) => {
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
  assert.equal(bench.kinds.filter((kind) => kind === "optimStep").length, 1, "behind the snapshot");
});

test("another trainer starts from the adapter alone, and the job says so", async (t) => {
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
