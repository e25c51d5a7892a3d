// The embedded engine as the server has it: a loop over a model folder, carried in a process of its own. Loads no native
// code itself.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../domain/clock.ts";
import type { Quantization } from "../domain/model.ts";
import type { TokenVocabulary } from "../domain/vocabulary.ts";
import { startAhead } from "../processes/child.ts";
import type { Logger, LogStyle } from "../telemetry/logger.ts";
import { ProcessEngine } from "./carrier/process-engine.ts";
import type { ConstraintSettings } from "./token-masks/settings.ts";
import { loopCapabilities, loopGauges } from "./loop-abilities.ts";
import type { EngineSettings } from "./settings.ts";

/** Everything the process needs to know before it can serve. */
export interface EmbeddedLoad {
  readonly modelFolder: string;
  /** For weights converted once; may be shared by engines. */
  readonly cacheFolder: string;
  /** Absent means `off`. */
  readonly quantization?: Quantization;
  /** What the model's tokens stand for, which constraints are about. */
  readonly vocabulary: TokenVocabulary;
  readonly settings: EngineSettings;
  /** What constraints on answers may cost. */
  readonly constraints: ConstraintSettings;
  /** Of the process's own lines, which go to standard error. */
  readonly log: LogStyle;
}

/** What the process of an embedded engine runs. */
const embeddedModule = new URL("./embedded-main.js", import.meta.url);

/** Has a process for an engine that is made later: it loads native code meanwhile, and no model. */
export function startEngineAhead(): void {
  startAhead(embeddedModule);
}

export interface EmbeddedEngineOptions extends Omit<EmbeddedLoad, "vocabulary"> {
  /** Asked for when a process needs it. */
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
    load: async (): Promise<EmbeddedLoad> => ({ ...load, vocabulary: await vocabulary() }),
    capabilities: loopCapabilities(settings),
    gauges: loopGauges(load),
    settings: { ...settings, startDeadlineMs: settings.startDeadlineMs + readingMs(modelFolder) },
    clock,
    logger,
  });
}

/** A slow disk: a network's, or one that others use. */
const bytesReadPerMs = 20_000;

/** How long reading a model's weights may take; one that is not there is found missing by the engine. */
function readingMs(modelFolder: string): number {
  if (!existsSync(modelFolder)) return 0;
  const weights = readdirSync(modelFolder).filter((name) => name.endsWith(".safetensors"));
  const byteCounts = weights.map((name) => statSync(join(modelFolder, name)).size);
  return byteCounts.reduce((sum, one) => sum + one, 0) / bytesReadPerMs;
}
