// Fills in what versions of older programs lack: the base model they were trained over, and the hash of their adapter. What
// their job recorded counts; what is recorded nowhere is taken from the files as they are, and the log says so.
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { BaseHashes, BaseModel, ModelStore, ModelVersion } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import { hasWeights } from "../../../lib/model-files/weight-files.ts";
import { baseHashes } from "../../../inference/model/hashes/base-hashes.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

export interface VersionRecordsDependencies {
  readonly models: readonly BaseModel[];
  readonly store: Pick<ModelStore, "adoptBase" | "list" | "listVersions" | "recordAdapterHash">;
  /** Where the hashes of the base model in a folder are kept. */
  readonly cacheOf: (folder: string) => string;
  readonly checkpointFiles: { readonly hashOf: (adapterFolder: string) => Promise<string> };
  readonly logger: Logger;
}

export interface VersionRecords {
  /** To be called before jobs run. */
  completeBases(): Promise<void>;
  /** Of a base as it was then; null before. */
  hashesOf(base: string): BaseHashes | null;
  /** Hashes adapters beside all else that runs, one after the other. */
  readonly adapters: Service;
}

export function createVersionRecords(dependencies: VersionRecordsDependencies): VersionRecords {
  const { models, store, cacheOf, logger } = dependencies;
  const known = new Map<string, BaseHashes>();
  let hashing: Promise<void> = Promise.resolve();
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
    adapters: serviceOf("adapter hashes", {
      start: async (signal) => {
        hashing = recordHashes(dependencies, signal).catch((error: unknown) =>
          logger.warn(
            { err: error },
            "the hashes of adapters could not be recorded; the next start tries again",
          ),
        );
      },
      stop: () => hashing,
    }),
  };
}

async function recordHashes(
  { store, checkpointFiles, logger }: VersionRecordsDependencies,
  signal: AbortSignal,
): Promise<void> {
  const all = { entity: null, project: null, name: null };
  for await (const { id } of allItems((page) => store.list(all, page)))
    for await (const version of allItems((page) => store.listVersions(id, page))) {
      if (signal.aborted) return;
      if (version.adapterFolder === null || version.adapterHash !== null) continue;
      const hash = await hashOrNull(version, version.adapterFolder);
      if (hash !== null) await store.recordAdapterHash(id, version.step, hash);
    }

  async function hashOrNull({ step, modelId }: ModelVersion, folder: string): Promise<string | null> {
    try {
      return await checkpointFiles.hashOf(folder);
    } catch (error) {
      logger.warn({ err: error, modelId, step }, "the adapter of a version cannot be read");
      return null;
    }
  }
}
