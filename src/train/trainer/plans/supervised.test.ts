// Tests supervised jobs with the naive trainer: their steps, weights and reports.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { JobKind, JobOutcome } from "../../../base/domain/job.ts";
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import {
  resolveSupervisedConfig,
  type SupervisedConfigInput,
} from "../../../base/domain/supervised/supervised-config.ts";
import { tinyConfig, tinyLora, tinyWeights } from "../contract/tiny-model.ts";
import type { TrainingJobDependencies } from "../run-training-job.ts";
import { NaiveTrainers } from "../testing/naive-trainer.ts";
import { RecordingTrainers } from "../testing/recording-trainers.ts";
import { linesOf } from "../testing/lines-of.ts";
import { type JobInput, runJob } from "../testing/run-job.ts";
import { silentReport } from "../testing/silent-report.ts";
import type { TrainingSequence } from "../trainer.ts";

/** Ids of two tokens: the one that opens the assistant's turn, and the one that ends every turn. */
const [opens, ends] = [9, 10];

const idsOf = (content: unknown): readonly number[] =>
  String(content)
    .split("")
    .map((character) => parseInt(character, 36));

/** Converts each character of a message's content to one token, and adds the end token after each message. */
const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  idOfToken: () => null,
  renderTurn: (messages) => {
    const shown = messages.map(({ role, content }) =>
      role === "assistant" ? [opens, ...idsOf(content), ends] : [...idsOf(content), ends],
    );
    const before = shown.slice(0, -1).flat();
    return { promptTokenIds: [...before, opens], answerTokenIds: (shown.at(-1) ?? []).slice(1) };
  },
};

const example = (user: string, answer: string, ...more: ExampleConversation["messages"]) => ({
  messages: [{ role: "user", content: user }, { role: "assistant", content: answer }, ...more],
  tools: null,
  extra: {},
});

interface Ran {
  readonly outcome: JobOutcome;
  readonly started: Readonly<Record<string, number>>;
  readonly steps: readonly Readonly<Record<string, number>>[];
  readonly warnings: readonly string[];
  /** The sequences from which each step computed its gradient. */
  readonly batches: readonly (readonly TrainingSequence[])[];
  readonly trainers: RecordingTrainers;
  readonly adapter: Buffer;
}

async function run(
  t: TestContext,
  conversations: readonly ExampleConversation[],
  config: SupervisedConfigInput,
  {
    dataFolder = mkdtempSync(join(tmpdir(), "hone-supervised-")),
    ...input
  }: JobInput & { readonly dataFolder?: string } = {},
): Promise<Ran> {
  t.after(() => rmSync(dataFolder, { recursive: true, force: true }));
  const { artifacts } = dataFolderAt(dataFolder);
  const options = { config: tinyConfig, weights: tinyWeights, lora: tinyLora, dataFolder };
  const trainers = new RecordingTrainers(new NaiveTrainers({ ...options, sequenceLengthMax: 10 }));
  const started: Ran["started"][] = [];
  const steps: Ran["steps"][number][] = [];
  const warnings: string[] = [];
  const adapterFolder = input.adapterFolder ?? "adapters/m/1";
  const outcome = await runJob(
    {
      trainers,
      artifacts,
      tokenizer,
      clock: new FakeClock(),
      report: silentReport({
        started: async ({ metrics }) => void started.push(metrics),
        stepped: async ({ metrics }) => void steps.push(metrics),
        warned: async ({ warning }) => void warnings.push(warning),
      }),
      lines: linesOf(conversations),
      task: { kind: "sft", config: resolveSupervisedConfig(config) },
      dataFolder,
    },
    input,
  );
  const batches = trainers.calls.flatMap((call) => (call.kind === "forwardBackward" ? [call.data] : []));
  const adapter = readFileSync(join(dataFolder, adapterFolder, "adapter_model.safetensors"));
  return { outcome, started: started[0], steps, warnings, batches, trainers, adapter };
}

/** Shows a sequence's token ids as text, with trained ones in brackets. */
const shown = ({ tokenIds, mask }: TrainingSequence): string =>
  [...tokenIds].map((id, index) => (mask[index] === 1 ? `[${id}]` : `${id}`)).join(" ");

const inOrder = { isShuffled: false } as const;

const five = ["1", "2", "3", "4", "5"].map((digit) => example(digit, digit));

/** Returns, for each step, the first token of each of its sequences. */
const firsts = ({ batches }: Ran): readonly (readonly number[])[] =>
  batches.map((batch) => batch.map(({ tokenIds }) => tokenIds[0]));

test("each assistant turn trains with its end token, in one sequence", async (t) => {
  const more = [
    { role: "user", content: "5" },
    { role: "assistant", content: "6" },
  ];
  const { batches } = await run(t, [example("1", "3", ...more)], inOrder);
  assert.deepEqual(batches[0].map(shown), ["1 10 9 [3] [10] 5 10 9 [6] [10]"]);
});

test("if only the last turns train, earlier ones are context", async (t) => {
  const more = [
    { role: "user", content: "5" },
    { role: "assistant", content: "6" },
  ];
  const last = { ...inOrder, assistantTurns: "last" } as const;
  const { batches } = await run(t, [example("1", "3", ...more)], last);
  assert.deepEqual(batches[0].map(shown), ["1 10 9 3 10 5 10 9 [6] [10]"]);
  await assert.rejects(run(t, [five[0], example("1", "3", { role: "user", content: "5" })], last), {
    code: "invalid",
    message: /^training_data\.1: .* its role is "user"/,
  });
});

test("a message of weight 0 is context", async (t) => {
  const { batches } = await run(
    t,
    [
      {
        messages: [
          { role: "user", content: "1" },
          { role: "assistant", content: "3", weight: 0 },
          { role: "user", content: "5" },
          { role: "assistant", content: "6", weight: 1 },
        ],
        tools: null,
        extra: {},
      },
    ],
    inOrder,
  );
  assert.deepEqual(batches[0].map(shown), ["1 10 9 3 10 5 10 9 [6] [10]"]);
});

const checking = { id: "check", signal: new AbortController().signal };

test("the loss is the mean negative log-probability over all trained tokens of a step", async (t) => {
  const conversations = [example("1", "234"), example("56", "7")];
  const { batches, steps, trainers } = await run(t, conversations, inOrder);
  const trainer = await trainers.open({ kind: "new", seed: "seed" }, checking);
  const { logprobs } = await trainer.forward(batches[0], checking);
  const values = logprobs.flatMap((row) => [...row]);
  assert.equal(values.length, 6);
  const mean = values.reduce((sum, value) => sum - value, 0) / values.length;
  assert.ok(Math.abs(steps[0]["loss"] - mean) < 1e-5, `${steps[0]["loss"]} is ${mean}`);
});

test("a step has a fixed number of conversations, each epoch starts a new one, and each step has its learning rate", async (t) => {
  const learningRate = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06];
  const ran = await run(t, five, { ...inOrder, epochCount: 2, learningRate });
  assert.deepEqual(firsts(ran), [[1, 2], [3, 4], [5], [1, 2], [3, 4], [5]]);
  assert.deepEqual(
    ran.steps.map((step) => step["learning_rate"]),
    learningRate,
  );
  const optimizer = ran.trainers.calls.find((call) => call.kind === "optimStep");
  assert.deepEqual(optimizer?.step, {
    learningRate: 0.01,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weightDecay: 0,
    gradientNormMax: 1,
  });
});

test("the seed decides each epoch's order, and the same seed gives the same adapter", async (t) => {
  const config = { batchSize: 5, epochCount: 2 };
  const ran = await run(t, five, config);
  const [first, second] = firsts(ran);
  assert.deepEqual(
    [...first].sort((one, other) => one - other),
    [1, 2, 3, 4, 5],
  );
  assert.notDeepEqual(first, second);
  const again = await run(t, five, config, { runKey: "jobs/another" });
  assert.deepEqual([firsts(again), again.adapter], [firsts(ran), ran.adapter]);
  const other = await run(t, five, config, { seed: "another" });
  assert.notDeepEqual(firsts(other), firsts(ran));
});

test("steps, start and version carry the numbers that clients know", async (t) => {
  const { outcome, started, steps } = await run(t, [example("1", "23"), example("45", "6")], inOrder);
  assert.equal(started["num_sequences"], 1);
  const { loss, grad_norm: norm, ...others } = steps[0];
  assert.ok(loss > 0 && norm > 0);
  assert.deepEqual(others, {
    learning_rate: 5e-5,
    num_trajectories: 2,
    num_tokens: 12,
    num_trainable_tokens: 5,
    num_dropped_trajectories: 0,
  });
  const { counts, metrics } = outcome;
  assert.deepEqual([counts.trajectories, counts.sequences, counts.trainableTokens], [2, 2, 5]);
  assert.deepEqual([counts.groupsSubmitted, counts.skipped, counts.skippedGroups], [0, {}, {}]);
  assert.equal(metrics["loss/train"], loss);
  assert.equal(metrics["data/step_num_gradient_steps"], 1);
  assert.ok(Object.values(metrics).every(Number.isFinite));
});

test("drops, counts and warns of whole conversations that are too long, cannot be rendered or lack an answer", async (t) => {
  const long = example("1".repeat(8), "2");
  const silent = { ...long, messages: [{ role: "assistant", content: "1", weight: 0 }] };
  const lost = { ...example("1", "2"), extra: { chat_template: "{{ 1 }}" } };
  const strange = example("1", "x");
  const conversations = [five[0], long, long, silent, lost, strange, five[1]];
  const ran = await run(t, conversations, { ...inOrder, learningRate: [1e-3, 2e-3, 3e-3, 4e-3] });
  assert.deepEqual(ran.outcome.counts.skipped, {
    too_long: 2,
    no_trainable_tokens: 1,
    unrenderable: 1,
    unreadable_tokens: 1,
  });
  // A batch is not a step if all its conversations are dropped, so only two of the batches are steps.
  assert.deepEqual(firsts(ran), [[1], [2]]);
  assert.deepEqual(
    ran.steps.map((step) => [step["learning_rate"], step["num_dropped_trajectories"]]),
    [
      [1e-3, 1],
      [4e-3, 0],
    ],
  );
  assert.equal(ran.warnings.length, 4);
  assert.equal(
    ran.warnings[0],
    "too_long: 2 of 7 conversations do not train; the first is training_data.1: It has 12 tokens; at most 10 train.",
  );
});

test("measures the loss on held-out conversations after each epoch, and does not train on them", async (t) => {
  const heldOut = [example("6", "789"), example("7", "1".repeat(12)), example("8", "2")];
  const config = { ...inOrder, batchSize: 2, epochCount: 2, learningRate: 0.01 };
  const ran = await run(t, [...five, ...heldOut], { ...config, heldOutCount: 3 });
  const plain = await run(t, five, config);
  assert.deepEqual(firsts(ran), firsts(plain));
  assert.deepEqual(ran.adapter, plain.adapter);
  const losses = ran.steps.map((step) => step["loss/valid"]);
  assert.deepEqual(
    losses.map((loss) => typeof loss),
    ["undefined", "undefined", "number", "undefined", "undefined", "number"],
  );
  assert.equal(ran.outcome.metrics["loss/valid"], losses[5]);
  assert.deepEqual(ran.outcome.counts.trajectories, 5);
  assert.deepEqual(ran.outcome.counts.skipped, { too_long: 1 });
  // Without steps that change the model, the loss is that of the first batch of a job that trains on these lines.
  const still = await run(t, [five[0], heldOut[0], heldOut[2]], {
    ...inOrder,
    learningRate: 1e-30,
    heldOutCount: 2,
  });
  const trained = await run(t, [heldOut[0], heldOut[2]], inOrder);
  assert.ok(Math.abs((still.steps[0]?.["loss/valid"] ?? 0) - (trained.steps[0]?.["loss"] ?? 1)) < 1e-6);
});

test("takes no step if nothing trains, and the version equals its start", async (t) => {
  const { started, steps, outcome } = await run(t, [example("1".repeat(9), "2")], {});
  assert.deepEqual([started["num_sequences"], steps.length], [0, 0]);
  assert.deepEqual(outcome.counts.skipped, { too_long: 1 });
});

/** A learning rate high enough that the job does not warn about small steps. */
const fast = { learningRate: 1e-3 };

test("the optimizer starts anew after a job of another kind, and the job says so", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-supervised-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const started = await run(t, five, fast, { dataFolder });
  const { adapterFolder, trainerState } = started.outcome;
  const goOn = (fromKind: JobKind): Promise<Ran> => {
    const from = { adapterFolder, trainerState };
    return run(t, five, fast, { dataFolder, from, fromKind, adapterFolder: `adapters/m/${fromKind}` });
  };
  const [same, other] = [await goOn("sft"), await goOn("rl")];
  const startOf = ({ trainers }: Ran): string | null => {
    const [opened] = trainers.calls;
    return opened.kind === "open" ? opened.start.kind : null;
  };
  assert.deepEqual([startOf(same), startOf(other)], ["state", "adapter"]);
  assert.deepEqual(same.warnings, []);
  assert.deepEqual(other.warnings, [
    "Training continues from this version's weights with a fresh optimizer: the version was made by a job of kind rl, " +
      "and this one is of kind sft.",
  ]);
  assert.notDeepEqual(same.adapter, other.adapter);
});

test("reports an optimizer state that is discarded or belongs to another trainer, but not one that never existed", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-supervised-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { adapterFolder } = (await run(t, five, fast, { dataFolder })).outcome;
  const warned = async (
    fromKind: JobKind | null,
    trainerState: string | null = null,
  ): Promise<readonly string[]> => {
    const from = { adapterFolder, trainerState };
    const input = { dataFolder, from, fromKind, adapterFolder: `adapters/m/${fromKind}` };
    return (await run(t, five, fast, input)).warnings;
  };
  assert.match((await warned("sft")).join(), /its optimizer state is no longer kept/);
  // The job cannot use a state of another trainer, even if a file of that name exists.
  const another = `embedded:${adapterFolder}/naive-state.json`;
  assert.match(
    (await warned("sft", another)).join(),
    /its state was kept by the trainer embedded, and this one is naive/,
  );
  // No job made the imported adapter, so no optimizer state is missing.
  assert.deepEqual(await warned(null), []);
});
