// Deletes versions that are older than the settings keep, with their adapters.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { adapterFolderOf, adapterId, type ModelStore, stepsAmong } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import type { ModelSettings } from "./settings.ts";

export interface OlderVersionsDependencies {
  readonly store: Pick<ModelStore, "deleteOlderVersions" | "list">;
  /** Has engines forget an adapter. Running requests continue on it: an engine reads an adapter once. */
  readonly dropAdapter: (adapterId: string) => void;
  /** Returns the adapters that requests run on, or are about to. */
  readonly adaptersInUse: () => Iterable<string>;
  readonly artifacts: Pick<ArtifactStore, "remove">;
  /** Returns the id by which other servers know this one's uses of versions. */
  readonly server: () => string;
  readonly settings: Pick<ModelSettings, "checkpointsKept">;
}

export type OlderVersions = ReturnType<typeof createOlderVersions>;

export function createOlderVersions(dependencies: OlderVersionsDependencies) {
  const { store, adaptersInUse, server } = dependencies;
  const { checkpointsKept } = dependencies.settings;
  /** Deletes a model's versions beyond those kept; to be called when it has a new version. */
  const deleteOf = async (modelId: string): Promise<void> => {
    if (checkpointsKept === 0) return;
    const steps = await store.deleteOlderVersions(modelId, {
      keptCount: checkpointsKept,
      spared: stepsAmong(adaptersInUse(), modelId),
      server: server(),
    });
    await removeAdapters(dependencies, modelId, steps);
  };
  return {
    deleteOf,
    /** Does the same for every model; to be called at start. */
    deleteAll: async (): Promise<void> => {
      const all = { entity: null, project: null, name: null };
      for await (const { id } of allItems((page) => store.list(all, page))) await deleteOf(id);
    },
  };
}

/** Removes the adapters of versions that are gone from the store. Step 0 has no adapter. */
export async function removeAdapters(
  { dropAdapter, artifacts }: Pick<OlderVersionsDependencies, "dropAdapter" | "artifacts">,
  modelId: string,
  steps: readonly number[],
): Promise<void> {
  for (const step of steps.filter((each) => each !== 0)) {
    dropAdapter(adapterId(modelId, step));
    await artifacts.remove(adapterFolderOf(modelId, step));
  }
}
