// Records the hash of the base weights for versions that have none. Such a version was trained while the weights were
// not on this machine; it gets the hash of the current files, and the log says so.
import type { BaseHashes, BaseModel, ModelStore } from "../../../base/domain/model.ts";
import { hasWeights } from "../../../lib/model-files/weight-files.ts";
import { baseHashes } from "../../../inference/architectures/hashes/base-hashes.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

export interface VersionRecordsDependencies {
  readonly models: readonly BaseModel[];
  readonly store: Pick<ModelStore, "adoptBase">;
  /** Returns the folder that caches the hashes of a base model's folder. */
  readonly cacheOf: (folder: string) => string;
  readonly logger: Logger;
}

export interface VersionRecords {
  /** Records the missing hashes. Call it before jobs run. */
  completeBases(): Promise<void>;
  /**
   * Returns the hashes of a base as read by `completeBases`; null before that call, or if the weights are not on this
   * machine.
   */
  hashesOf(base: string): BaseHashes | null;
}

export function createVersionRecords(dependencies: VersionRecordsDependencies): VersionRecords {
  const { models, store, cacheOf, logger } = dependencies;
  const known = new Map<string, BaseHashes>();
  return {
    hashesOf: (base) => known.get(base) ?? null,
    completeBases: async () => {
      for (const { name, folder, engine } of models) {
        // The weights of a model that other servers compute may exist only on those servers.
        if (engine.kind !== "embedded" && !hasWeights(folder)) continue;
        const hashes = await baseHashes(folder, cacheOf(folder));
        known.set(name, hashes);
        const count = await store.adoptBase(name, hashes);
        if (count > 0)
          logger.warn(
            { baseModel: name, weights: hashes.weights, versions: count },
            "the base weights of these versions were not recorded; the current ones are assumed",
          );
      }
    },
  };
}
