// The embedded engine as the server has it: a loop over a model folder, carried in a process of its own. Loads no native
// code itself.
import type { Clock } from "../../base/domain/clock.ts";
import type { Quantization } from "../../base/domain/model.ts";
import type { TokenVocabulary } from "../../base/domain/vocabulary.ts";
import { byteLengthOf } from "../../lib/graph/weight-source.ts";
import { readModelConfig } from "../architectures/config/read-config.ts";
import { weightParts } from "../architectures/quantized/weight-forms.ts";
import { endAhead, startAhead } from "../../base/processes/child.ts";
import type { Logger, LogStyle } from "../../base/telemetry/logger.ts";
import { ProcessEngine } from "./ipc/process-engine.ts";
import type { ConstraintSettings } from "./token-masks/settings.ts";
import { loopCapabilities, loopGauges } from "./loop-abilities.ts";
import { openingOf, type ModelOpening } from "./opening/model-opening.ts";
import type { EngineSettings } from "./settings.ts";

/** What the process needs to know before it can serve, but for the vocabulary, without which it begins to load. */
export interface EmbeddedLoad {
  readonly modelFolder: string;
  /** For weights converted once; may be shared by engines. */
  readonly cacheFolder: string;
  /** Absent means `off`. */
  readonly quantization?: Quantization;
  readonly settings: EngineSettings;
  /** What constraints on answers may cost. */
  readonly constraints: ConstraintSettings;
  /** Of the process's own lines, which go to standard error. */
  readonly log: LogStyle;
}

/** What the process of an embedded engine runs. */
const embeddedModule = new URL("./embedded-main.js", import.meta.url);

/**
 * Has a process for an engine that is made later: it loads native code meanwhile, and the model, where that is told and takes
 * nothing to be written.
 */
export function startEngineAhead(model: ModelOpening | null): void {
  startAhead(embeddedModule, model ?? undefined);
}

/** Ends the processes of {@link startEngineAhead} that no engine took, such as that of a model which cannot be loaded. */
export function endEnginesAhead(): void {
  endAhead(embeddedModule);
}

export interface EmbeddedEngineOptions extends EmbeddedLoad {
  /** What the model's tokens stand for, which constraints are about; asked for when a process needs it. */
  readonly vocabulary: () => Promise<TokenVocabulary>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An engine for one model folder; nothing runs until `start`. */
export function createEmbeddedEngine({
  vocabulary,
  clock,
  logger,
  ...load
}: EmbeddedEngineOptions): ProcessEngine {
  const { modelFolder, settings } = load;
  return new ProcessEngine({
    module: embeddedModule,
    load: load satisfies EmbeddedLoad,
    hint: openingOf(load),
    supplement: vocabulary,
    capabilities: loopCapabilities(settings),
    gauges: loopGauges(load),
    settings: { ...settings, startDeadlineMs: settings.startDeadlineMs + weightsMs(modelFolder) },
    clock,
    logger,
  });
}

/** A slow disk, a network's or one that others use, read and written a few times in a first start. */
const weightBytesPerMs = 20_000;

/**
 * How long it may take to read a model's weights, to convert and to arrange them, which a first start does: by their bytes in
 * float32, whatever the file has. None for a folder without a model, which the engine finds.
 */
export function weightsMs(modelFolder: string): number {
  try {
    const parts = weightParts(readModelConfig(modelFolder), new Map());
    return parts.reduce((sum, part) => sum + byteLengthOf(part), 0) / weightBytesPerMs;
  } catch {
    return 0;
  }
}
