// Loads the remote trainer in a training process. The process needs no weights of the base model, because the remote
// server has them.
import { systemClock } from "../../../base/domain/clock.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { LoadedTrainers, TrainingLoad } from "../child-protocol.ts";
import { TinkerTrainers } from "./tinker-trainers.ts";
import type { TrainerElsewhere } from "./trainer-address.ts";

/**
 * Returns trainers that compute on the remote server.
 *
 * @param options.onHeartbeat called after each response from the server
 */
export function loadTrainers(
  { baseModel, settings }: TrainingLoad,
  {
    config,
    elsewhere,
    onHeartbeat,
  }: { readonly config: ModelConfig; readonly elsewhere: TrainerElsewhere; readonly onHeartbeat: () => void },
): LoadedTrainers {
  const trainers = new TinkerTrainers({
    ...elsewhere,
    config,
    baseModelName: baseModel.name,
    baseWeights: baseModel.weights,
    rank: settings.loraRank,
    sequenceLengthMax: Math.min(config.contextLength, settings.sequenceLengthMax),
    clock: systemClock,
    onHeartbeat,
  });
  return { trainers, requireAble: async () => undefined, free: async () => undefined };
}
