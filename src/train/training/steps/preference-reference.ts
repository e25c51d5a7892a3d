// Comparisons with a reference: log-probabilities of the reference before the first step, KTO's reference point at every
// step, and log-probabilities over rounded weights against those over float32.
import { present } from "../../../base/domain/assert.ts";
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedSequence, PlannedBatch } from "../data/optimizer-batches.ts";
import type { PlannedMismatch, PreferencePlan, TrainingPlan } from "../plans/plan.ts";
import type { Trainer } from "../trainer.ts";
import type { JobSnapshots } from "./job-snapshots.ts";
import type { BasePrecision } from "../../../base/domain/trainer/base-precision.ts";
import type { Metrics } from "../job-metrics.ts";

/** Gives a step's batch what its loss compares with. */
export type WithReference = (index: number, batch: OptimizerBatch) => Promise<OptimizerBatch>;

const referenceName = "reference-logprobs";
const mismatchedName = "mismatched-reference-logprobs";

/** What has to be kept of the reference for the steps of a plan to be gone on with. */
export function neededReference({ preferences }: Pick<TrainingPlan, "preferences">): readonly string[] {
  if (preferences === null || preferences.reference === null) return [];
  const isEstimated = preferences.mismatches.some(({ length }) => length > 0);
  return [referenceName, ...(isEstimated ? [mismatchedName] : [])];
}

/** @param trainer on the version that the job starts from, unless what is needed was kept */
export async function preferenceReference(
  trainer: Trainer,
  plan: TrainingPlan,
  { snapshots, signal }: { readonly snapshots: JobSnapshots; readonly signal: AbortSignal },
): Promise<WithReference> {
  const { preferences, batches, read } = plan;
  if (preferences === null || preferences.reference === null) return async (_index, batch) => batch;
  const hasAdapter = preferences.reference === "start";
  /** Of things in batches, each once, in the order in which they come first. */
  const once = async <Item>(
    name: string,
    items: readonly (readonly Item[])[],
    readItems: (items: readonly Item[]) => OptimizerBatch,
  ): Promise<ReadonlyMap<Item, Float32Array>> => {
    const cut = firstsOf(items);
    const arrays = await snapshots.once(name, async () => {
      const computed: Float32Array[] = [];
      for (const [index, part] of cut.entries()) {
        if (part.length === 0) continue;
        const call = { id: `${name} ${index}`, signal };
        computed.push(...(await trainer.forward(readItems(part), call, { hasAdapter })).logprobs);
      }
      return computed;
    });
    return new Map(cut.flat().map((item, place) => [item, present(arrays[place], "log-probabilities")]));
  };
  const ofSequences = await once<PlannedSequence>(referenceName, batches, read);
  const [withMismatches] = neededReference(plan).slice(1);
  const ofMismatches =
    withMismatches === undefined
      ? null
      : await once<PlannedMismatch>(withMismatches, preferences.mismatches, preferences.readMismatches);
  return async (index, batch) => {
    const referencePoint =
      ofMismatches === null ? 0 : await pointOf(trainer, { preferences, ofMismatches, index, signal });
    return batch.map((sequence, row) => ({
      ...sequence,
      referenceLogprobs: atTrained(
        sequence,
        present(ofSequences.get(batches[index][row]), "a sequence's log-probabilities"),
      ),
      ...(sequence.preference && { preference: { ...sequence.preference, referencePoint } }),
    }));
  };
}

/** The mean log ratio of answers to other prompts, and at least 0, as a divergence is. */
async function pointOf(
  trainer: Trainer,
  {
    preferences,
    ofMismatches,
    index,
    signal,
  }: {
    readonly preferences: PreferencePlan;
    readonly ofMismatches: ReadonlyMap<PlannedMismatch, Float32Array>;
    readonly index: number;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const mismatches = preferences.mismatches[index];
  if (mismatches.length === 0) return 0;
  const batch = preferences.readMismatches(mismatches);
  const { logprobs } = await trainer.forward(batch, { id: `mismatched ${index}`, signal });
  const sum = mismatches.reduce((total, mismatch, row) => {
    const reference = present(ofMismatches.get(mismatch), "a mismatch's log-probabilities");
    return logprobs[row].reduce((part, value, at) => part + value - reference[at], total);
  }, 0);
  return Math.max(0, sum / mismatches.length);
}

/** Each batch without those that came in one before it. */
function firstsOf<Item>(batches: readonly (readonly Item[])[]): readonly (readonly Item[])[] {
  const known = new Set<Item>();
  return batches.map((batch) =>
    batch.filter((item) => {
      const isNew = !known.has(item);
      known.add(item);
      return isNew;
    }),
  );
}

/** Tokens that are enough for a mean; the sample ends with the sequence that reaches them. */
const sampleTokens = 256;

/** Of the mean, in nats: on a model that takes rounding well it is below a half of this. */
const expectedMeanMax = 0.25;

export interface PrecisionDifference {
  readonly metrics: Metrics;
  /** For the job's sender; null where the difference is as expected. */
  readonly warning: string | null;
}

/** Costs two forward passes of the sample; none over a base in float32. */
export async function comparePrecision(
  trainer: Trainer,
  { batches, read }: Pick<TrainingPlan, "batches" | "read">,
  { basePrecision, signal }: { readonly basePrecision: BasePrecision; readonly signal: AbortSignal },
): Promise<PrecisionDifference> {
  const sample = sampleOf(batches);
  if (basePrecision === "float32" || sample.length === 0) return { metrics: {}, warning: null };
  const sequences = read(sample);
  const rounded = await trainer.forward(sequences, { id: "rounded base", signal });
  const exact = await trainer.forward(sequences, { id: "float32 base", signal }, { isFloat32: true });
  const differences = rounded.logprobs.flatMap((values, row) =>
    Array.from(values, (value, index) => Math.abs(value - exact.logprobs[row][index])),
  );
  const mean = differences.reduce((sum, nats) => sum + nats, 0) / differences.length;
  const largest = differences.reduce((one, other) => Math.max(one, other), 0);
  return {
    metrics: {
      "loss/base_precision_difference_mean": mean,
      "loss/base_precision_difference_max": largest,
    },
    warning: mean <= expectedMeanMax ? null : precisionWarning(basePrecision, mean),
  };
}

function precisionWarning(basePrecision: BasePrecision, mean: number): string {
  return (
    `Over the base model in ${basePrecision} log-probabilities are ${mean.toPrecision(3)} nats from those over float32 on ` +
    `average, and ${expectedMeanMax} is the most that is expected: this model loses much by rounding. Train with ` +
    "base_precision float32."
  );
}

/** The sequences of the first steps. */
function sampleOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const sample = new Set<PlannedSequence>();
  let tokenCount = 0;
  for (const sequence of batches.flat()) {
    if (tokenCount >= sampleTokens) break;
    if (sample.has(sequence)) continue;
    sample.add(sequence);
    tokenCount += sequence.tokenCount;
  }
  return [...sample];
}
