// Checks that the adapters of the models' newest versions exist and are complete, by file sizes and headers. Reads no
// weights.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { ModelStore } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { cacheResult } from "./cache-result.ts";

/** Lifetime of a result in milliseconds. It limits the cost, because each check reads a file per model. */
const holdsMs = 10_000;
/** Maximum number of versions named in the error. */
const namedMax = 5;

export interface AdapterCheckDependencies {
  readonly models: Pick<ModelStore, "list" | "newestVersion">;
  readonly artifacts: Pick<ArtifactStore, "localPath">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Returns a check. It rejects if the adapter of any model's newest version cannot be read. The error identifies these
 * versions by model id, not by name, because names are visible only to their entity.
 */
export function createAdapterCheck(dependencies: AdapterCheckDependencies): () => Promise<void> {
  return cacheResult(() => checkAll(dependencies), holdsMs, dependencies.clock);
}

async function checkAll({ models, artifacts, logger }: AdapterCheckDependencies): Promise<void> {
  const broken: string[] = [];
  const all = { entity: null, project: null, name: null };
  for await (const { id } of allItems((page) => models.list(all, page))) {
    const version = await models.newestVersion(id);
    if (version === null || version.adapterFolder === null) continue;
    const folder = await artifacts.localPath(version.adapterFolder);
    // An adapter that is not on this machine yet is checked when it is fetched.
    if (folder === null) continue;
    const fault = faultOf(folder);
    // It is not a fault if another server has deleted the version or its model in the meantime.
    if (fault === null || (await models.newestVersion(id))?.step !== version.step) continue;
    broken.push(`${id}:step${version.step}`);
    logger.error({ err: fault, modelId: id, step: version.step }, "a version's adapter cannot be read");
  }
  if (broken.length === 0) return;
  const named = broken.slice(0, namedMax).join(", ");
  const rest = broken.length > namedMax ? ` and ${broken.length - namedMax} more` : "";
  throw new ServiceError({
    code: "internal",
    message: `The adapter of ${named}${rest} cannot be read; the server's log says why. Put its files back, or delete the version.`,
  });
}

function faultOf(folder: string): Error | null {
  try {
    const config = join(folder, "adapter_config.json");
    if (!existsSync(config)) return new Error(`${config} does not exist.`);
    readSafetensorsHeader(join(folder, "adapter_model.safetensors"));
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
