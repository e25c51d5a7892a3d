// The process of the embedded engine. All native compute of serving happens here, so that a crash in it ends one engine and
// not the server.
import { createLogger } from "../telemetry/logger.ts";
import { serveEngine } from "./carrier/serve-engine.ts";
import type { EmbeddedLoad } from "./embedded-engine.ts";
import { LoopEngine } from "./loop-engine.ts";
import { openModelFolder } from "./open-model-folder.ts";

serveEngine((given, progress) => {
  // Sent by `createEmbeddedEngine` alone.
  const load = given as EmbeddedLoad;
  const logger = createLogger(load.log).child({ component: "engine" });
  const engine = new LoopEngine({
    ...load,
    openModel: () => openModelFolder(load, logger),
    logger,
    ...progress,
  });
  return { engine, intervalMs: load.settings.eventIntervalMs };
});
