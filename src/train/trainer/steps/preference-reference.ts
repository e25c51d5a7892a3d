// Computes the reference values of preference losses. Computes the reference model's log-probabilities once, before the
// first step. Estimates KTO's reference point in each step, from prompts paired with answers to other prompts.
import { present } from "../../../base/domain/assert.ts";
import { atTrained } from "../../trajectories/sequences.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { PlannedMismatch, PreferencePlan, TrainingPlan } from "../plans/plan.ts";
import type { Trainer } from "../trainer.ts";
import type { JobSnapshots } from "./job-snapshots.ts";
import { withoutRepeats } from "./without-repeats.ts";

/** Adds reference values to batches, if the loss needs any. */
export interface PreferenceReferences {
  /** Adds them to the batch of the step with this index. */
  readonly ofStep: (index: number, batch: OptimizerBatch) => Promise<OptimizerBatch>;
  /** Adds them to a held-out batch. Its reference point is 0. */
  readonly ofHeldOut: (planned: PlannedBatch, batch: OptimizerBatch) => OptimizerBatch;
}

const referenceName = "reference-logprobs";
const mismatchedName = "mismatched-reference-logprobs";

/** Returns the names of the reference values that an earlier attempt must have saved for this attempt to continue. */
export function requiredReference({ preferences }: Pick<TrainingPlan, "preferences">): readonly string[] {
  if (preferences === null || preferences.reference === null) return [];
  const isEstimated = preferences.mismatches.some(({ length }) => length > 0);
  return [referenceName, ...(isEstimated ? [mismatchedName] : [])];
}

/**
 * Computes the reference values of a preference loss.
 *
 * @param trainer must be at the job's start version, unless an earlier attempt saved the needed values
 */
export async function preferenceReference(
  trainer: Trainer,
  plan: TrainingPlan,
  { snapshots, signal }: { readonly snapshots: JobSnapshots; readonly signal: AbortSignal },
): Promise<PreferenceReferences> {
  const { preferences, batches, heldOut, read } = plan;
  if (preferences === null || preferences.reference === null)
    return { ofStep: async (_index, batch) => batch, ofHeldOut: (_planned, batch) => batch };
  const hasAdapter = preferences.reference === "start";
  /** Computes a value for each item of the batches, once per item, in the order in which the items first occur. */
  const once = async <Item>(
    name: string,
    items: readonly (readonly Item[])[],
    readItems: (items: readonly Item[]) => OptimizerBatch,
  ): Promise<ReadonlyMap<Item, Float32Array>> => {
    const cut = withoutRepeats(items);
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
  const computed = [...batches, ...(heldOut?.batches ?? [])];
  const ofSequences = await once<PlannedSequence>(referenceName, computed, read);
  const [withMismatches] = requiredReference(plan).slice(1);
  const ofMismatches =
    withMismatches === undefined
      ? null
      : await once<PlannedMismatch>(withMismatches, preferences.mismatches, preferences.readMismatches);
  const ofHeldOut: PreferenceReferences["ofHeldOut"] = (planned, batch) =>
    batch.map((sequence, row) => ({
      ...sequence,
      referenceLogprobs: atTrained(
        sequence,
        present(ofSequences.get(planned[row]), "a sequence's log-probabilities"),
      ),
    }));
  const ofStep: PreferenceReferences["ofStep"] = async (index, batch) => {
    const referencePoint =
      ofMismatches === null
        ? 0
        : await estimateReferencePoint(trainer, { preferences, ofMismatches, index, signal });
    return ofHeldOut(batches[index], batch).map((sequence) => ({
      ...sequence,
      ...(sequence.preference && { preference: { ...sequence.preference, referencePoint } }),
    }));
  };
  return { ofStep, ofHeldOut };
}

/**
 * Estimates KTO's reference point: the mean log ratio of policy to reference over answers to other prompts. The ratio
 * estimates a divergence, so the result is at least 0.
 */
async function estimateReferencePoint(
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
