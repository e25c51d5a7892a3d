// Parameters for opening (loading) a model in an engine's process. The server sends them to the process. A process that
// has opened a model in advance compares them with the parameters that it used.
import type { Quantization } from "../../../base/domain/model.ts";
import type { EngineSettings } from "../settings.ts";

type OpeningSettings = Pick<
  EngineSettings,
  "contextLengthMax" | "threads" | "adapterCountMax" | "device" | "draftTokensMax" | "preparesAhead"
>;

export interface ModelOpening extends OpeningSettings {
  readonly modelFolder: string;
  /** Cache folder for data derived from the model. */
  readonly cacheFolder: string;
  readonly quantization: Quantization;
}

/**
 * Selects from an engine's load parameters those that determine how its model is opened. An absent quantization means
 * `off`.
 */
export function openingOf({
  modelFolder,
  cacheFolder,
  quantization = "off",
  settings: { contextLengthMax, threads, adapterCountMax, device, draftTokensMax, preparesAhead },
}: Pick<ModelOpening, "modelFolder" | "cacheFolder"> & {
  readonly quantization?: Quantization;
  readonly settings: OpeningSettings;
}): ModelOpening {
  const limits = { contextLengthMax, threads, adapterCountMax, device, draftTokensMax, preparesAhead };
  return { modelFolder, cacheFolder, quantization, ...limits };
}
