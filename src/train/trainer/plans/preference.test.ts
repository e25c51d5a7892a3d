// Tests preference jobs with the naive trainer: which answers they compare, when they compute the reference, and what
// they report.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import type { JobOutcome } from "../../../base/domain/job.ts";
import {
  type PreferenceConfigInput,
  resolvePreferenceConfig,
} from "../../../base/domain/preferences/preference-config.ts";
import type { PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { tinyConfig, tinyLora, tinyWeights } from "../contract/tiny-model.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import type { TrainingJobDependencies } from "../run-training-job.ts";
import { linesOf } from "../testing/lines-of.ts";
import { type JobInput, runJob } from "../testing/run-job.ts";
import { NaiveTrainers } from "../testing/naive-trainer.ts";
import { type RecordedCall, RecordingTrainers } from "../testing/recording-trainers.ts";
import { silentReport } from "../testing/silent-report.ts";
import { preferenceLossOf, type TrainingSequence } from "../trainer.ts";

/** Ids of two tokens: the one that opens the assistant's turn, and the one that ends every turn. */
const [opens, ends] = [9, 10];

const idsOf = (content: unknown): readonly number[] => Array.from(String(content), (id) => parseInt(id, 36));

/** Converts each character of a message's content to one token, and adds the end token after each message. */
const tokenizer: TrainingJobDependencies["tokenizer"] = {
  vocabularySize: tinyConfig.vocabularySize,
  encode: () => assert.fail("nothing to encode"),
  renderPrompt: () => assert.fail("nothing to render"),
  idOfToken: () => null,
  renderTurn: (messages) => {
    const shown = messages.map(({ role, content }) => [
      ...(role === "assistant" ? [opens] : []),
      ...idsOf(content),
      ends,
    ]);
    const before = shown.slice(0, -1).flat();
    return { promptTokenIds: [...before, opens], answerTokenIds: (shown.at(-1) ?? []).slice(1) };
  },
};

const said = (content: string | null) => (content === null ? null : [{ role: "assistant", content }]);

const pair = (prompt: string, chosen: string | null, rejected: string | null): PreferenceExample => ({
  messages: [{ role: "user", content: prompt }],
  tools: null,
  chosen: said(chosen),
  rejected: said(rejected),
  extra: {},
});

const pairs = [pair("1", "23", "4"), pair("56", "7", "81"), pair("3", "1", "2")];

interface Ran {
  readonly outcome: JobOutcome;
  readonly steps: readonly Readonly<Record<string, number>>[];
  readonly warnings: readonly string[];
  readonly calls: readonly RecordedCall[];
  readonly ids: readonly string[];
  /** The sequences from which each step computed its gradient. */
  readonly batches: readonly (readonly TrainingSequence[])[];
  readonly adapter: Buffer;
}

interface RunOptions extends JobInput {
  readonly dataFolder?: string;
  readonly onCall?: RecordingTrainers["onCall"];
}

async function run(
  t: TestContext,
  preferences: readonly PreferenceExample[],
  config: PreferenceConfigInput,
  { dataFolder = mkdtempSync(join(tmpdir(), "hone-preference-")), onCall, ...input }: RunOptions = {},
): Promise<Ran> {
  t.after(() => rmSync(dataFolder, { recursive: true, force: true }));
  const { artifacts } = dataFolderAt(dataFolder);
  const options = { config: tinyConfig, weights: tinyWeights, lora: tinyLora, dataFolder };
  const trainers = new RecordingTrainers(new NaiveTrainers({ ...options, sequenceLengthMax: 10 }));
  if (onCall !== undefined) trainers.onCall = onCall;
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
        stepped: async ({ metrics }) => void steps.push(metrics),
        warned: async ({ warning }) => void warnings.push(warning),
      }),
      lines: linesOf(preferences),
      task: {
        kind: "preference",
        config: resolvePreferenceConfig({ isShuffled: false, learningRate: 0.01, ...config }),
      },
      dataFolder,
    },
    input,
  );
  const { calls, ids } = trainers;
  const batches = calls.flatMap((call) => (call.kind === "forwardBackward" ? [call.data] : []));
  const adapter = readFileSync(join(dataFolder, adapterFolder, "adapter_model.safetensors"));
  return { outcome, steps, warnings, calls, ids, batches, adapter };
}

/**
 * Shows a sequence as text: the index of its preference, + if it is the chosen side or -, and its token ids with
 * trained ones in brackets.
 */
const shown = ({ tokenIds, mask, preference }: TrainingSequence): string => {
  const ids = [...tokenIds].map((id, index) => (mask[index] === 1 ? `[${id}]` : `${id}`));
  return `${preference?.index}${preference?.isChosen === true ? "+" : "-"} ${ids.join(" ")}`;
};

const kindsOf = ({ calls }: Pick<Ran, "calls">): readonly string[] => calls.map(({ kind }) => kind);

/** Returns the kinds of the calls to the trainer after it was opened and before the first gradient. */
const beforeSteps = (ran: Ran): readonly string[] =>
  kindsOf(ran).slice(1, kindsOf(ran).indexOf("forwardBackward"));

test("both answers of a pair train after one prompt, a fixed number of pairs per step", async (t) => {
  const { batches, outcome } = await run(t, pairs, { batchSize: 2 });
  assert.deepEqual(
    batches.map((batch) => batch.map(shown)),
    [
      ["0+ 1 10 9 [2] [3] [10]", "0- 1 10 9 [4] [10]", "1+ 5 6 10 9 [7] [10]", "1- 5 6 10 9 [8] [1] [10]"],
      ["2+ 3 10 9 [1] [10]", "2- 3 10 9 [2] [10]"],
    ],
  );
  assert.deepEqual(
    batches[0].map(({ group }) => group),
    [0, 0, 1, 1],
  );
  const { counts } = outcome;
  assert.deepEqual([counts.trajectories, counts.sequences, counts.trainableTokens], [3, 6, 14]);
  assert.deepEqual(counts.steps, { count: 2, passCount: 1, sequencesMax: 4 });
});

test("an answer may have several messages, and all of the assistant's train", async (t) => {
  const chosen = [
    { role: "assistant", content: "2" },
    { role: "user", content: "3" },
    { role: "assistant", content: "4" },
  ];
  const { batches } = await run(t, [{ ...pair("1", "2", "5"), chosen }], {});
  assert.deepEqual(batches[0].map(shown), ["0+ 1 10 9 [2] [10] 3 10 9 [4] [10]", "0- 1 10 9 [5] [10]"]);
});

test("computes the reference's log-probabilities once, however often a pair trains", async (t) => {
  const twice = await run(t, pairs, { batchSize: 3, epochCount: 3 });
  assert.deepEqual(beforeSteps(twice), ["forward"]);
  assert.equal(kindsOf(twice).filter((kind) => kind === "forwardBackward").length, 3);
  const base = await run(t, pairs, { batchSize: 3, reference: "base" });
  assert.deepEqual(beforeSteps(base), ["forward of the base"]);
  const none = await run(t, pairs, { batchSize: 3, loss: "simpo" });
  assert.deepEqual(beforeSteps(none), []);
});

test("reports each step as TRL does, before its update: at first the policy is its reference", async (t) => {
  const { steps, outcome } = await run(t, pairs, { batchSize: 3, epochCount: 2 });
  const [first, second] = steps;
  assert.ok(Math.abs(first["loss"] - Math.LN2) < 1e-6);
  for (const name of ["rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies"])
    assert.ok(Math.abs(first[name]) < 1e-6, name);
  assert.ok(first["logps/chosen"] < 0 && first["logps/rejected"] < 0 && first["grad_norm"] > 0);
  assert.deepEqual(
    [first["num_trajectories"], first["num_tokens"], first["num_trainable_tokens"]],
    [3, 34, 14],
  );
  assert.ok(second["loss"] < first["loss"] && second["rewards/margins"] > 0);
  assert.ok(second["rewards/accuracies"] > 0.5);
  assert.equal(outcome.metrics["rewards/accuracies"], second["rewards/accuracies"] / 2);
  assert.ok(Object.values(outcome.metrics).every(Number.isFinite));
});

test("a step's loss is the loss function's value on the trainer's data", async (t) => {
  for (const loss of ["dpo", "ipo", "simpo", "kto"] as const) {
    const config = { loss, batchSize: 3, epochCount: 2 };
    const { batches, steps } = await run(t, pairs, config);
    const trainers = new NaiveTrainers({
      config: tinyConfig,
      weights: tinyWeights,
      lora: tinyLora,
      dataFolder: tmpdir(),
      sequenceLengthMax: 10,
    });
    const call = (id: string) => ({ id, signal: new AbortController().signal });
    const trainer = await trainers.open({ kind: "new", seed: "seed" }, call("open"));
    const { logprobs } = await trainer.forward(batches[0], call("forward"));
    const inputs = batches[0].map((sequence, row) => ({ sequence, logprobs: logprobs[row] }));
    const expected = batchLoss(inputs, preferenceLossOf(resolvePreferenceConfig(config))).loss;
    assert.ok(Math.abs(steps[0]["loss"] - expected) < 1e-6, loss);
  }
});

test("measures the loss on held-out pairs after each epoch, and does not train on them", async (t) => {
  for (const reference of ["start", "base"] as const) {
    const config = { batchSize: 1, epochCount: 2, learningRate: 0.05, reference };
    const ran = await run(t, pairs, { ...config, heldOutCount: 2 });
    const plain = await run(t, pairs.slice(0, 1), config);
    assert.deepEqual(ran.adapter, plain.adapter);
    assert.equal(ran.outcome.counts.trajectories, 1);
    const [first, second] = ran.steps.map((step) => step["loss/valid"] ?? 0);
    assert.ok(first !== second && Math.abs(first - Math.LN2) < 0.7, `${first}, ${second}`);
    assert.equal(ran.outcome.metrics["loss/valid"], second);
    // The pairs that train on in the other job are held out here, and the model does not change.
    const still = await run(t, pairs, { ...config, learningRate: 1e-30, heldOutCount: 2 });
    assert.ok(Math.abs((still.steps[0]?.["loss/valid"] ?? 0) - Math.LN2) < 1e-6);
  }
});

test("drops, counts and warns of whole pairs whose answers are equal, too long or cannot be rendered", async (t) => {
  const lost = { ...pair("1", "2", "3"), extra: { chat_template: "{{ 1 }}" } };
  const mute = { ...pair("1", "2", "3"), chosen: [{ role: "assistant", content: "2", weight: 0 }] };
  const lines = [
    pairs[0],
    pair("1", "2", "2"),
    pair("1", "2", "3".repeat(9)),
    lost,
    mute,
    pair("1", "x", "2"),
  ];
  const { outcome, warnings, batches } = await run(t, lines, {});
  assert.deepEqual(outcome.counts.skipped, {
    equal_answers: 1,
    too_long: 1,
    unrenderable: 1,
    no_trainable_tokens: 1,
    unreadable_tokens: 1,
  });
  assert.equal(batches[0].length, 2);
  assert.deepEqual(warnings.slice(0, 2), [
    "equal_answers: 1 of 6 pairs do not train; the first is pairs.1: Both answers have the same tokens.",
    "too_long: 1 of 6 pairs do not train; the first is pairs.2: With its rejected answer it has 13 tokens; at most 10 train.",
  ]);
});

test("takes no step if nothing trains, and the version equals its start", async (t) => {
  const { steps, calls } = await run(t, [pair("1", "2", "2")], {});
  assert.deepEqual([steps.length, calls.filter(({ kind }) => kind === "forward").length], [0, 0]);
});

test("KTO takes single answers, and a pair's two answers separately", async (t) => {
  const lines = [pair("1", "2", null), pair("3", null, "4"), pair("5", "6", "7")];
  const { batches, outcome, calls } = await run(t, lines, { loss: "kto", batchSize: 3, epochCount: 2 });
  assert.deepEqual(
    batches.slice(0, 2).map((batch) => batch.map(shown)),
    [["0+ 1 10 9 [2] [10]", "1- 3 10 9 [4] [10]", "2+ 5 10 9 [6] [10]"], ["3- 5 10 9 [7] [10]"]],
  );
  assert.equal(outcome.counts.trajectories, 4);
  // Forward passes over two epochs. First, the reference computes the answers and the mismatches, once each. Then,
  // before each step, the policy computes the mismatches.
  const forwards = calls.flatMap((call) => (call.kind === "forward" ? [call.data.map(shown)] : []));
  const mismatched = [
    "undefined- 1 10 9 [6] [10]",
    "undefined- 3 10 9 [2] [10]",
    "undefined- 5 10 9 [4] [10]",
  ];
  assert.deepEqual(forwards[2], mismatched);
  assert.ok(forwards.filter((forward) => forward.join() === mismatched.join()).length >= 3);
});

test("KTO reports the distance between desirable and undesirable answers, and warns if one kind has little weight", async (t) => {
  const lines = [pair("1", "2", null), pair("3", null, "4"), pair("5", null, "6"), pair("7", null, "8")];
  const kto = { loss: "kto", batchSize: 4, epochCount: 2, learningRate: 0.05 } as const;
  const { steps, warnings } = await run(t, lines, kto);
  const [first, second] = steps;
  assert.ok(Math.abs(first["rewards/margins"]) < 1e-6 && second["rewards/margins"] > 0);
  assert.equal(second["rewards/margins"], second["rewards/chosen"] - second["rewards/rejected"]);
  assert.deepEqual(warnings, [
    "1 answers are desirable and 3 are not; the former have 0.33 times the weight of the others. With desirable_weight 3.0 both have the same.",
  ]);
  assert.deepEqual((await run(t, lines, { ...kto, desirableWeight: 3 })).warnings, []);
  assert.deepEqual((await run(t, lines, { ...kto, loss: "kto", undesirableWeight: 1.5 })).warnings.length, 1);
  const alone = await run(t, lines.slice(1), kto);
  assert.match(alone.warnings[0] ?? "", /^0 answers are desirable and 3 are not: .* send some of both/);
  assert.equal(alone.steps[0]["rewards/margins"], undefined);
});

test("KTO's reference point is the model's shift on answers to other prompts, and at least 0", async (t) => {
  const lines = [pair("1", "2", null), pair("3", "4", null), pair("5", "6", null)];
  const config = { loss: "kto", batchSize: 3, epochCount: 4, learningRate: 0.05 } as const;
  const { steps, batches } = await run(t, lines, config);
  const points = steps.map((step) => step["kl"]);
  assert.ok(Math.abs(points[0]) < 1e-6 && points.every((point) => point >= 0));
  assert.ok((points.at(-1) ?? 0) > 0.01, points.join());
  for (const [index, batch] of batches.entries())
    for (const { preference } of batch) assert.equal(preference?.referencePoint, points[index]);
  // If all answers are to the same prompt, there are no mismatches, so the reference point is 0.
  const alone = await run(t, [pair("1", "2", "3"), pair("1", "4", null)], { ...config, batchSize: 8 });
  assert.deepEqual(new Set(alone.steps.map((step) => step["kl"])), new Set([0]));
});

test("a continued attempt starts after the last kept step without computing the reference again", async (t) => {
  for (const loss of ["dpo", "kto"] as const) {
    const config = { loss, batchSize: 2, epochCount: 2 };
    const whole = await run(t, pairs, config);
    const dataFolder = mkdtempSync(join(tmpdir(), "hone-preference-"));
    let gradientCount = 0;
    const onCall = ({ kind }: RecordedCall): void => {
      if (kind === "forwardBackward" && (gradientCount += 1) === 3) throw new Error("lost");
    };
    await assert.rejects(run(t, pairs, config, { dataFolder, onCall, snapshotShare: 1 }), /lost/);
    const again = await run(t, pairs, config, { dataFolder, snapshotShare: 1 });
    assert.equal(again.batches.length, whole.batches.length - 2);
    const references = ({ ids }: Ran): readonly string[] => ids.filter((id) => id.includes("reference"));
    assert.deepEqual([references(again).length, references(whole).length > 0], [0, true]);
    assert.deepEqual(again.adapter, whole.adapter);
  }
});
