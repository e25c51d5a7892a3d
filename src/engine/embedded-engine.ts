// The embedded engine as the server has it: a loop over a model folder, carried in a process of its own. Loads no native
// code itself.
import type { Clock } from "../domain/clock.ts";
import type { TokenVocabulary } from "../domain/vocabulary.ts";
import { startAhead } from "../processes/child.ts";
import type { Logger, LogStyle } from "../telemetry/logger.ts";
import { ProcessEngine } from "./carrier/process-engine.ts";
import type { ConstraintSettings } from "./token-masks/settings.ts";
import { loopCapabilities, loopGauges } from "./loop-abilities.ts";
import { settingsForThisMachine, type EngineSettings } from "./settings.ts";

/** Everything the process needs to know before it can serve. */
export interface EmbeddedLoad {
  readonly modelFolder: string;
  /** For weights converted once; may be shared by engines. */
  readonly cacheFolder: string;
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

/** An engine for one model folder; nothing runs until `start`. */
export function createEmbeddedEngine({
  clock,
  logger,
  ...given
}: EmbeddedLoad & { readonly clock: Clock; readonly logger: Logger }): ProcessEngine {
  const settings = settingsForThisMachine(given.settings);
  const load: EmbeddedLoad = { ...given, settings };
  return new ProcessEngine({
    module: embeddedModule,
    load,
    capabilities: loopCapabilities(settings),
    gauges: loopGauges(load),
    settings,
    clock,
    logger,
  });
}
