// Records the base weights of versions that lack them: versions trained while the weights were not on this machine get the hash
// of the files as they are now, and the log says so.
import type { BaseHashes, BaseModel, ModelStore } from "../../../base/domain/model.ts";
import { hasWeights } from "../../../lib/model-files/weight-files.ts";
import { baseHashes } from "../../../inference/architectures/hashes/base-hashes.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

export interface VersionRecordsDependencies {
  readonly models: readonly BaseModel[];
  readonly store: Pick<ModelStore, "adoptBase">;
  /** Where the hashes of the base model in a folder are kept. */
  readonly cacheOf: (folder: string) => string;
  readonly logger: Logger;
}

export interface VersionRecords {
  /** To be called before jobs run. */
  completeBases(): Promise<void>;
  /** Of a base as it was then; null before. */
  hashesOf(base: string): BaseHashes | null;
}

export function createVersionRecords(dependencies: VersionRecordsDependencies): VersionRecords {
  const { models, store, cacheOf, logger } = dependencies;
  const known = new Map<string, BaseHashes>();
  return {
    hashesOf: (base) => known.get(base) ?? null,
    completeBases: async () => {
      for (const { name, folder, engine } of models) {
        // Of what others compute the weights may lie elsewhere alone.
        if (engine.kind !== "embedded" && !hasWeights(folder)) continue;
        const hashes = await baseHashes(folder, cacheOf(folder));
        known.set(name, hashes);
        const count = await store.adoptBase(name, hashes);
        if (count > 0)
          logger.warn(
            { baseModel: name, weights: hashes.weights, versions: count },
            "it was not recorded over which weights these versions were trained; those of now are taken to be the same",
          );
      }
    },
  };
}
