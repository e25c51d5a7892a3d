// The engine's own process: loads a model, then serves what its parent sends until the parent stops it or goes away.
// All native compute of serving happens here, so that a crash in it ends one engine and not the server.
import { ServiceError } from "../domain/service-error.ts";
import { createLogger, silentLogger, type Logger } from "../telemetry/logger.ts";
import type { ChildMessage, ParentMessage } from "./child-protocol.ts";
import { EngineLoop } from "./loop/engine-loop.ts";
import { openGraphRunner } from "./graph-runner.ts";
import { positionBytes } from "./cache/kv-lane.ts";
import type { ModelRunner } from "./model-runner.ts";

let logger: Logger = silentLogger;
let loop: EngineLoop | null = null;

process.on("message", (message: ParentMessage) => receive(message));
// Without a parent nobody reads the answers.
process.on("disconnect", () => process.exit(0));
// A terminal sends its signals to the whole group; the parent decides when this process ends.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);

function receive(message: ParentMessage): void {
  switch (message.kind) {
    case "load":
      logger = createLogger(message.logLevel).child({ component: "engine" });
      serve(message).catch((error: unknown) => {
        logger.error({ err: error }, "the engine broke down");
        process.exit(1);
      });
      return;
    case "stop":
      if (loop === null) process.exit(0);
      loop.stop();
      return;
    case "submit":
      loop?.submit(message.key, message.request);
      return;
    case "abort":
      loop?.abort(message.key);
      return;
    case "stop-choice":
      loop?.stopChoice(message.key, message.choice);
      return;
    case "drop-adapter":
      loop?.dropAdapter(message.id);
  }
}

/** Serves until it is told to stop. */
async function serve(options: ParentMessage & { kind: "load" }): Promise<void> {
  const { settings, modelFolder, cacheFolder } = options;
  let runner: ModelRunner;
  try {
    runner = await openGraphRunner({ modelFolder, cacheFolder, settings });
  } catch (error) {
    logger.error({ err: error, modelFolder }, "the model cannot be loaded");
    const known = error instanceof ServiceError;
    const message = known ? error.message : `The model in ${modelFolder} cannot be loaded; the log says why.`;
    await send({ kind: "refused", code: known ? error.code : "internal", message });
    process.exit(1);
  }
  const running = new EngineLoop(runner, {
    ...settings,
    tell: (news) => {
      // A parent that is gone also disconnects, which ends this process.
      send({ kind: "news", news, kvCacheBytes: running.kvCacheBytes }).catch(() => undefined);
    },
  });
  loop = running;
  const { contextLength, vocabularySize } = runner.shape;
  await send({ kind: "ready", contextLength, vocabularySize, bytesPerPosition: positionBytes(runner.shape) });
  await running.run();
  await runner.close();
  process.exit(0);
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}
