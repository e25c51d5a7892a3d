// The embedded trainer of a training process: it reads the base model's weights, and computes with them.
import type { ArtifactStore } from "../../artifacts/artifact-store.ts";
import { projectionNames } from "../../domain/model.ts";
import type { ModelConfig } from "../../model/config.ts";
import { readInt8TrainingWeights, readModelWeights } from "../../model/weights.ts";
import { requireExactIntegerProducts } from "../../runtime/integer-products.ts";
import type { LoadedTrainers, TrainingLoad } from "../child-protocol.ts";
import { EmbeddedTrainers } from "./embedded-trainer.ts";

export async function loadTrainers(
  { baseModel, settings, cacheFolder }: TrainingLoad,
  { config, artifacts }: { readonly config: ModelConfig; readonly artifacts: ArtifactStore },
): Promise<LoadedTrainers> {
  const { folder, name, weights } = baseModel;
  const trainers = new EmbeddedTrainers({
    config,
    weights: readModelWeights(folder, config, { cacheFolder }),
    ...(settings.basePrecision === "int8" && {
      int8Base: readInt8TrainingWeights(folder, config, { cacheFolder }),
    }),
    lora: {
      rank: settings.loraRank,
      alpha: settings.loraAlpha,
      targets: settings.loraTargets ?? projectionNames,
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
  return {
    trainers,
    requireAble: async () => {
      if (settings.basePrecision === "int8")
        await requireExactIntegerProducts("Train with base_precision float32, which computes in it.");
    },
    free: () => trainers.close(),
  };
}
