// Compares preference losses, their gradients and optimizer steps with values that TRL computed in float64 for the
// same model and tokens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import {
  type PreferenceConfigInput,
  resolvePreferenceConfig,
} from "../../../base/domain/preferences/preference-config.ts";
import { present } from "../../../base/domain/assert.ts";
import { writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { atTrained } from "../../trajectories/sequences.ts";
import { joinMismatch } from "../data/mismatches.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import { NaiveTrainers } from "../testing/naive-trainer.ts";
import { type Loss, preferenceLossOf, type Trainer, type TrainingSequence } from "../trainer.ts";
import { expectedLogprobs, tinyConfig, tinyLora, tinyWeights, trainedAdapter } from "./tiny-model.ts";
import { tinyJudgedAnswers, tinyPairs } from "./tiny-preferences.ts";
import {
  type MakeTrainers,
  TrainerBench,
  adamStep,
  assertClose,
  flat,
  tinyTrainers,
} from "./trainers-under-test.ts";

interface Golden {
  readonly cases: Readonly<
    Record<
      string,
      {
        readonly config: PreferenceConfigInput;
        readonly loss: number;
        /** Gradient of each adapter matrix, by the matrix's name. */
        readonly gradient: Readonly<Record<string, readonly number[]>>;
      }
    >
  >;
  /**
   * Summed log-probabilities of each answer. They are computed with the adapter, except `base_pairs`. `kl` is KTO's
   * reference point.
   */
  readonly logprobs: Readonly<Record<"pairs" | "judged" | "base_pairs", readonly number[]>> & {
    readonly kl: number;
  };
  /** Settings and expected results of the optimizer steps in the case `dpo`. */
  readonly adamw: {
    readonly learning_rate: number;
    readonly weight_decay: number;
    readonly max_grad_norm: number;
    readonly steps: readonly { readonly loss: number; readonly grad_norm_before_clip: number }[];
    readonly adapter: Readonly<Record<string, readonly number[]>>;
  };
}

const goldenFile = "test/fixtures/goldens/preferences/preferences.json";
const golden = JSON.parse(readFileSync(goldenFile, "utf8")) as Golden;

const naive: MakeTrainers = (dataFolder) =>
  new NaiveTrainers({
    config: tinyConfig,
    weights: tinyWeights,
    lora: tinyLora,
    dataFolder,
    sequenceLengthMax: 10,
  });

/**
 * Returns a function that makes embedded trainers with the given microbatch size. With a small size, the two answers of
 * a pair are in different microbatches.
 */
function embedded(microbatchTokens: number): MakeTrainers {
  return (dataFolder, context) => {
    const trainers = tinyTrainers({ dataFolder, microbatchTokens });
    context.after(() => trainers.close());
    return trainers;
  };
}

const ways: readonly (readonly [string, MakeTrainers])[] = [
  ["double precision", naive],
  ["float32 at once", embedded(1000)],
  ["float32 in parts", embedded(9)],
];

/** Opens a trainer that starts from the adapter with which the expected values were computed. */
async function opened(bench: TrainerBench): Promise<Trainer> {
  const folder = `${bench.dataFolder}/start`;
  writeLoraAdapter(folder, trainedAdapter(), { config: tinyConfig, baseModelName: "tiny" });
  return bench.openAt({ kind: "adapter", folder });
}

/** Returns the batch of a test case. Adds the reference log-probabilities and KTO's reference point, as a job would. */
async function batchOf(
  loss: Loss & { kind: "preference" },
  trainer: Trainer,
  bench: TrainerBench,
): Promise<readonly TrainingSequence[]> {
  const sequences = loss.config.loss === "kto" ? tinyJudgedAnswers() : tinyPairs();
  const base = { hasAdapter: false };
  const { logprobs } = await trainer.forward(sequences, bench.call(), base);
  const mismatched = sequences.map((sequence, place) => ({
    ...sequence,
    ...joinMismatch(sequence, present(sequences.at(place - 1), "the one before"), 10),
  }));
  const [mine, reference] = await Promise.all([
    trainer.forward(mismatched, bench.call()),
    trainer.forward(mismatched, bench.call(), base),
  ]);
  const ratios = mine.logprobs.map((values, row) =>
    values.reduce((sum, value, at) => sum + value - reference.logprobs[row][at], 0),
  );
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  if (loss.config.loss === "kto") assertClose([mean], [golden.logprobs.kl], 1e-5);
  const referencePoint = loss.config.loss === "kto" ? Math.max(0, mean) : 0;
  return sequences.map((sequence, row) => ({
    ...sequence,
    referenceLogprobs: atTrained(sequence, logprobs[row]),
    preference: { ...present(sequence.preference, "a preference"), referencePoint },
  }));
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

test("the goldens were computed with the contract's model", () => {
  const sums = (sequences: readonly TrainingSequence[], hasAdapter: boolean): readonly number[] =>
    sequences.map((sequence) => sumOf(expectedLogprobs(sequence, hasAdapter ? trainedAdapter() : null)));
  assertClose(sums(tinyPairs(), true), golden.logprobs.pairs, 1e-6);
  assertClose(sums(tinyPairs(), false), golden.logprobs.base_pairs, 1e-6);
  assertClose(sums(tinyJudgedAnswers(), true), golden.logprobs.judged, 1e-6);
});

async function check(t: TestContext, name: string, make: MakeTrainers): Promise<void> {
  const { config, loss: expected, gradient } = present(golden.cases[name], name);
  const loss = preferenceLossOf(resolvePreferenceConfig(config));
  const bench = new TrainerBench(make, t);
  const trainer = await opened(bench);
  const batch = await batchOf(loss, trainer, bench);
  const result = await trainer.forwardBackward(batch, loss, bench.call());
  assertClose([result.loss], [expected], 1e-5);
  const inputs = batch.map((sequence, row) => ({ sequence, logprobs: result.logprobs[row] }));
  assertClose([batchLoss(inputs, loss).loss], [expected], 1e-5);
  const names = [...trainedAdapter().matrices.keys()];
  assert.deepEqual(new Set(Object.keys(gradient)), new Set(names));
  assertClose(
    await bench.gradient(trainer),
    names.flatMap((matrix) => [...present(gradient[matrix], matrix)]),
    1e-5,
  );
}

for (const name of searchedOf(Object.keys(golden.cases), 10))
  for (const [way, make] of searchedOf(ways, 1, name))
    test(`the loss ${name} and its gradient equal TRL's, in ${way}`, (t) => check(t, name, make));

for (const [way, make] of ways)
  test(`optimizer steps with DPO produce TRL's adapter, in ${way}`, async (t) => {
    const { adamw } = golden;
    const loss = preferenceLossOf(resolvePreferenceConfig(present(golden.cases["dpo"], "dpo").config));
    const bench = new TrainerBench(make, t);
    const trainer = await opened(bench);
    const batch = await batchOf(loss, trainer, bench);
    const step = {
      ...adamStep,
      learningRate: adamw.learning_rate,
      weightDecay: adamw.weight_decay,
      gradientNormMax: adamw.max_grad_norm,
    };
    for (const expected of adamw.steps) {
      const result = await trainer.forwardBackward(batch, loss, bench.call());
      const { metrics } = await trainer.optimStep(step, bench.call());
      assertClose([result.loss], [expected.loss], 1e-5);
      assertClose([present(metrics["gradient_norm"], "a norm")], [expected.grad_norm_before_clip], 1e-5);
    }
    const { adapter } = await bench.export(trainer);
    const expected = [...adapter.matrices.keys()].flatMap((matrix) => [
      ...present(adamw.adapter[matrix], matrix),
    ]);
    assertClose(flat(adapter), expected, 1e-5);
  });
