// The process of the embedded engine. All native compute of serving happens here, so that a crash in it ends one engine and
// not the server.
import { systemClock } from "../../base/domain/clock.ts";
import type { TokenVocabulary } from "../../base/domain/vocabulary.ts";
import { createLogger } from "../../base/telemetry/logger.ts";
import { serveEngine } from "./ipc/serve-engine.ts";
import type { EmbeddedLoad } from "./embedded-engine.ts";
import { LoopEngine } from "./loop-engine.ts";
import { ModelAhead } from "./opening/model-ahead.ts";
import { openingOf, type ModelOpening } from "./opening/model-opening.ts";
import { garbageCollector, QuietCollection } from "./idle-work.ts";

let ahead: ModelAhead | null = null;
const prepare = (hint: unknown): void => {
  // Sent by `startEngineAhead` alone.
  ahead = new ModelAhead(hint as ModelOpening);
};

serveEngine((given, progress, supplement) => {
  // Both are sent by `createEmbeddedEngine` alone.
  const load = given as EmbeddedLoad;
  // The server adds these lines to its own log.
  const logger = createLogger({ level: load.log.level, format: "json" }).child({ component: "engine" });
  const collect = garbageCollector();
  const collection = new QuietCollection(systemClock, () => {
    engine.releaseSpares();
    collect();
  });
  const engine = new LoopEngine({
    ...load,
    vocabulary: supplement as Promise<TokenVocabulary>,
    openModel: () => ModelAhead.open(ahead, openingOf(load), logger),
    logger,
    clock: systemClock,
    onStep: () => {
      progress.onStep();
      collection.postpone();
    },
    onBreakdown: progress.onBreakdown,
  });
  return { engine, intervalMs: load.settings.eventIntervalMs };
}, prepare);
