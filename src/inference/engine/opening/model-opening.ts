// Which model an engine's process opens, and how: what the server says of it, and compares. Opens nothing.
import type { Quantization } from "../../../base/domain/model.ts";
import type { EngineSettings } from "../settings.ts";

type OpeningSettings = Pick<
  EngineSettings,
  "contextLengthMax" | "threads" | "adapterCountMax" | "device" | "draftTokensMax" | "preparesAhead"
>;

export interface ModelOpening extends OpeningSettings {
  readonly modelFolder: string;
  /** For what is computed of the model once. */
  readonly cacheFolder: string;
  readonly quantization: Quantization;
}

/** What of an engine's load decides it; an absent quantization means `off`. */
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
