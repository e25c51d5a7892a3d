// Checks that each base model still has the weights that its versions were trained on.
import type { Clock } from "../../../base/domain/clock.ts";
import type { ModelStore } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { cacheResult } from "./cache-result.ts";

/** Lifetime of a result in milliseconds. */
const holdsMs = 10_000;
/** Maximum number of versions named in the error. */
const namedMax = 5;

export interface BaseCheckDependencies {
  readonly models: Pick<ModelStore, "versionsOverOthers">;
  /** Names of the base models. */
  readonly bases: readonly string[];
  /**
   * Returns the hex SHA-256 of a base's weights; null if unknown, such as before the engine is loaded for the first
   * time.
   */
  readonly weightsOf: (base: string) => string | null;
  readonly clock: Clock;
}

/**
 * Returns a check. It rejects if a version was trained on other weights than its base has now. The error identifies
 * these versions by model id, not by name, because names are visible only to their entity.
 */
export function createBaseCheck(dependencies: BaseCheckDependencies): () => Promise<void> {
  return cacheResult(() => checkAll(dependencies), holdsMs, dependencies.clock);
}

async function checkAll({ models, bases, weightsOf }: BaseCheckDependencies): Promise<void> {
  const found: string[] = [];
  for (const base of bases) {
    const weights = weightsOf(base);
    if (weights === null) continue;
    const versions = await models.versionsOverOthers(base, weights, namedMax + 1);
    found.push(...versions.map(({ modelId, step }) => `${modelId}:step${step} (${base})`));
  }
  if (found.length === 0) return;
  const named = found.slice(0, namedMax).join(", ");
  throw new ServiceError({
    code: "conflict",
    message:
      `${named}${found.length > namedMax ? " and more" : ""} were trained on other weights of their base model than it ` +
      "has now, and are refused. Serve the earlier weights, or accept the current ones for a model: `hone models accept-base`.",
  });
}
