// Entry point of the embedded engine's process. All native computation of serving happens in this process, so a crash
// ends one engine but not the server.
import { systemClock } from "../../base/domain/clock.ts";
import type { TokenVocabulary } from "../../base/domain/vocabulary.ts";
import { createLogger } from "../../base/telemetry/logger.ts";
import { serveEngine } from "./ipc/serve-engine.ts";
import type { EmbeddedLoad } from "./embedded-engine.ts";
import { LoopEngine } from "./loop-engine.ts";
import { PreopenedModel } from "./opening/preopened-model.ts";
import { openingOf, type ModelOpening } from "./opening/model-opening.ts";
import { garbageCollector, IdleGc } from "./idle-work.ts";

let ahead: PreopenedModel | null = null;
const prepare = (hint: unknown): void => {
  // Safe cast: only `startEngineAhead` sends this hint.
  ahead = new PreopenedModel(hint as ModelOpening);
};

serveEngine((given, progress, supplement) => {
  // Safe casts: only `createEmbeddedEngine` sends these two values.
  const load = given as EmbeddedLoad;
  // Log lines are JSON, because the server parses them and adds them to its own log.
  const logger = createLogger({ level: load.log.level, format: "json" }).child({ component: "engine" });
  const collect = garbageCollector();
  const collection = new IdleGc(systemClock, { collect, beforeIdle: () => engine.releaseSpares() });
  const engine = new LoopEngine({
    ...load,
    vocabulary: supplement as Promise<TokenVocabulary>,
    openModel: () => PreopenedModel.open(ahead, openingOf(load), logger),
    logger,
    clock: systemClock,
    onStep: () => {
      progress.onStep();
      collection.postpone(engine.takeDroppedBytes());
    },
    onBreakdown: progress.onBreakdown,
  });
  return { engine, intervalMs: load.settings.eventIntervalMs };
}, prepare);
