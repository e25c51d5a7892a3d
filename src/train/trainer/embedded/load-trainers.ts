// Loads the base model's weights in a training process and creates the embedded trainer.
import { join } from "node:path";
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import { projectionNames } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { usualTargets } from "../../../inference/architectures/lora.ts";
import { hasProjection, loraProjections } from "../../../inference/architectures/parameters.ts";
import {
  floatReader,
  readInt8TrainingWeights,
  readModelWeights,
} from "../../../inference/architectures/weights.ts";
import { integerKernels } from "../../../inference/onnx/integer-kernels.ts";
import type { LoadedTrainers, StateStore, TrainingLoad } from "../child-protocol.ts";
import { differencesIn } from "./saved-differences.ts";
import { EmbeddedTrainers, type EmbeddedTrainerOptions } from "./embedded-trainer.ts";

export async function loadTrainers(
  { baseModel, settings, cacheFolder }: TrainingLoad,
  { config, artifacts }: { readonly config: ModelConfig; readonly artifacts: StateStore },
): Promise<LoadedTrainers> {
  const { folder, name, weights } = baseModel;
  const kernels = settings.basePrecision === "int8" ? await integerKernels(cacheFolder) : null;
  const trainers = new EmbeddedTrainers({
    config,
    ...(kernels === null
      ? float32Base(folder, config, cacheFolder)
      : int8Base(folder, config, { cacheFolder, kernels })),
    lora: {
      rank: settings.loraRank,
      alpha: settings.loraAlpha,
      targets: settings.loraTargets ?? usualTargets(config),
    },
    baseModelName: name,
    baseWeights: weights,
    artifacts,
    sequenceLengthMax: settings.sequenceLengthMax,
    microbatchTokens: settings.microbatchTokens,
    memoryBytes: settings.memoryBytes,
    sharesPrefixes: true,
    threads: settings.threads,
  });
  const file = join(cacheFolder, `${weights.slice(0, 16)}-int8-difference.json`);
  return {
    trainers,
    ...(kernels !== null && { differences: differencesIn(file) }),
    requireAble: async () => {
      requireTargets(config, settings);
      if (kernels !== null) requireCodes(kernels);
    },
    free: () => trainers.close(),
  };
}

/** Returns the options of a trainer over a base model in float32. */
function float32Base(
  folder: string,
  config: ModelConfig,
  cacheFolder: string,
): Pick<EmbeddedTrainerOptions, "readWeights" | "readFloats"> {
  return {
    readWeights: () => readModelWeights(folder, config, { cacheFolder }),
    readFloats: floatReader(folder, config),
  };
}

/** Returns the options of a trainer over a base model in 8 bits. */
export function int8Base(
  folder: string,
  config: ModelConfig,
  options: { readonly cacheFolder: string | null; readonly kernels: IntegerKernels },
): Pick<EmbeddedTrainerOptions, "readWeights" | "int8" | "readFloats"> {
  const { sources, forms } = readInt8TrainingWeights(folder, config, options);
  return { readWeights: () => sources, int8: { forms }, readFloats: floatReader(folder, config) };
}

/**
 * Checks that the configured LoRA adapter covers at least one projection of the model.
 *
 * @throws ServiceError `unsupported` if it covers none
 */
function requireTargets(config: ModelConfig, { loraTargets }: TrainingLoad["settings"]): void {
  if (loraTargets === undefined || loraProjections(config, loraTargets).length > 0) return;
  const own = projectionNames.filter((name) => config.layers.some(hasProjection(name)));
  throw new ServiceError({
    code: "unsupported",
    message: `target_modules are ${loraTargets.join(", ")}, but the layers of this model have only ${own.join(", ")}. Register a model with some of these.`,
  });
}

/** @throws ServiceError `unsupported` if this processor cannot multiply 8-bit weights exactly */
function requireCodes({ codes }: IntegerKernels): void {
  if (codes !== null) return;
  throw new ServiceError({
    code: "unsupported",
    message:
      "base_precision is int8, but this processor cannot multiply 8-bit weights exactly in any form. Train with " +
      "base_precision float32.",
  });
}
