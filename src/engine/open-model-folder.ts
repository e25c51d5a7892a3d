// A model folder made ready to compute.
import { realpathSync } from "node:fs";
import { systemClock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import { baseHashes } from "../model/hashes/base-hashes.ts";
import { readQuantizedWeights } from "../model/weights.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { EmbeddedLoad } from "./embedded-engine.ts";
import { createGraphRunner } from "./graph-runner.ts";
import type { OpenModel } from "./loop-engine.ts";

/** @throws ServiceError for a folder that holds no model which can be computed; what nobody foresaw is said in the log alone */
export async function openModelFolder(
  load: Pick<EmbeddedLoad, "modelFolder" | "cacheFolder" | "quantization" | "settings">,
  logger: Logger,
): Promise<OpenModel> {
  const { modelFolder, cacheFolder, quantization = "off", settings } = load;
  try {
    // First, since it says of a folder without a model that there is none.
    const stored = readModelConfig(modelFolder);
    const { weights } = await baseHashes(modelFolder, cacheFolder);
    const contextLength = Math.min(stored.contextLength, settings.contextLengthMax);
    const config = { ...stored, contextLength };
    const { sources, forms } = readQuantizedWeights(modelFolder, config, { cacheFolder, quantization });
    const runner = await createGraphRunner({
      config,
      weights: sources,
      forms,
      threads: settings.threads,
      adapterCountMax: settings.adapterCountMax,
      clock: systemClock,
      weightsHash: weights,
      arrangedCache: { folder: cacheFolder, model: realpathSync(modelFolder), weightsHash: weights },
    });
    return { runner, weights };
  } catch (error) {
    logger.error({ err: error, modelFolder }, "the model cannot be loaded");
    if (error instanceof ServiceError) throw error;
    throw new ServiceError({
      code: "internal",
      message: `The model in ${modelFolder} cannot be loaded; the log says why.`,
    });
  }
}
