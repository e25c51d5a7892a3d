// Creates the embedded engine for the server: an engine loop for one model folder, run in a separate process. This
// module loads no native code.
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
import { loopCapabilities, loopGauges } from "./loop-capabilities.ts";
import { openingOf, type ModelOpening } from "./opening/model-opening.ts";
import type { EngineSettings } from "./settings.ts";

/**
 * Data that the engine's process needs before it can serve. The vocabulary is sent separately, so that loading can
 * begin before the vocabulary is read.
 */
export interface EmbeddedLoad {
  readonly modelFolder: string;
  /** Cache folder for converted weights; several engines may share the folder. */
  readonly cacheFolder: string;
  /** Weight precision; `off` if absent. */
  readonly quantization?: Quantization;
  readonly settings: EngineSettings;
  /** Cost limits for constraints on answers. */
  readonly constraints: ConstraintSettings;
  /** Style of the process's log lines, which it writes to standard error. */
  readonly log: LogStyle;
}

/** Module that the process of an embedded engine runs. */
const embeddedModule = new URL("./embedded-main.js", import.meta.url);

/**
 * Starts a process ahead of time, for an engine that is created later. The process loads native code. It also loads the
 * model, if the model is given and loading it writes nothing.
 */
export function startEngineAhead(model: ModelOpening | null): void {
  startAhead(embeddedModule, model ?? undefined);
}

/**
 * Ends the processes of {@link startEngineAhead} that no engine has taken over, for example because the model cannot be
 * loaded.
 */
export function endEnginesAhead(): void {
  endAhead(embeddedModule);
}

export interface EmbeddedEngineOptions extends EmbeddedLoad {
  /** Reads the vocabulary, which constraints need. Called when the engine's process requests it. */
  readonly vocabulary: () => Promise<TokenVocabulary>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates an engine for one model folder. The engine starts no process before its `start` is called. */
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

/**
 * Assumed speed of a slow disk, such as a network disk. A first start reads and writes the weights several times at
 * this speed.
 */
const weightBytesPerMs = 20_000;

/**
 * Returns the maximum time in milliseconds that a first start may take to read, convert and arrange a model's weights.
 * The time depends on the weights' size in float32, not on the files' precision. Returns 0 for a folder without a
 * model, because the engine reports that error immediately.
 */
export function weightsMs(modelFolder: string): number {
  try {
    const parts = weightParts(readModelConfig(modelFolder), new Map());
    return parts.reduce((sum, part) => sum + byteLengthOf(part), 0) / weightBytesPerMs;
  } catch {
    return 0;
  }
}
