// Loads the logged trajectories of some versions, and the versions and splits that can be chosen.
import type { Checkpoint, TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { newestVersions } from "../views/newest-versions.ts";

export interface EvaluationChoices {
  /** Versions, oldest first. */
  readonly versions: readonly Checkpoint[];
  readonly splits: readonly string[];
}

/** Maximum number of trajectories that are read per version. */
export const outlinesMax = 1000;

export async function loadChoices(
  hone: Hone,
  modelId: string,
  signal: AbortSignal,
): Promise<EvaluationChoices> {
  const [versions, counts] = await Promise.all([
    newestVersions(hone, modelId, signal),
    hone.trajectories.counts(modelId, {}, { signal }),
  ]);
  const splits = new Set(counts.filter(({ source }) => source === "log").map(({ split }) => split));
  return { versions, splits: [...splits] };
}

/** Returns the last two versions with logs of a split; an empty list if no version has logs. */
export function usualVersions({ versions }: EvaluationChoices, split: string): readonly number[] {
  const logged = versions.filter(({ metrics }) => Number.isFinite(metrics[`${split}/reward`]));
  return logged.slice(-2).map(({ step }) => step);
}

export async function loadOutlines(
  hone: Hone,
  modelId: string,
  query: { readonly split: string; readonly step: number },
  signal: AbortSignal,
): Promise<readonly TrajectoryOutline[]> {
  const found: TrajectoryOutline[] = [];
  const filter = { ...query, source: "log", limit: 100 } as const;
  for await (const outline of hone.trajectories.outlines(modelId, filter, { signal })) {
    found.push(outline);
    if (found.length === outlinesMax) break;
  }
  return found;
}
