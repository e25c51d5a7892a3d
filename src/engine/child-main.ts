// The engine's own process: loads a model, then serves what its parent sends until the parent stops it or goes away.
// All native compute of serving happens here, so that a crash in it ends one engine and not the server.
import { systemClock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { serveParent, type Loaded } from "../processes/serve-parent.ts";
import { createLogger, type Logger } from "../telemetry/logger.ts";
import type { EngineEvents, EngineLoad, EngineProtocol, EngineRequest } from "./child-protocol.ts";
import { EventOutbox } from "./events/event-outbox.ts";
import { packOutputs } from "./events/packed-outputs.ts";
import { ThreadedConstraints } from "./constraints/threaded-constraints.ts";
import { EngineLoop } from "./loop/engine-loop.ts";
import { baseHashes } from "../model/hashes/base-hashes.ts";
import { openGraphRunner } from "./graph-runner.ts";
import { positionBytes } from "./cache/kv-lane.ts";
import type { ModelRunner } from "./model-runner.ts";
import { readRegistrations } from "./processors/registrations.ts";
import { loadProcessors } from "./processors/registry.ts";

serveParent<EngineProtocol>(load);

async function load(
  options: EngineLoad,
  emit: (events: EngineEvents) => Promise<void>,
): Promise<Loaded<EngineProtocol>> {
  const logger = createLogger(options.log).child({ component: "engine" });
  const { runner, weights } = await openModel(options, logger);
  const registrations = readRegistrations(options.settings.logitsProcessors);
  const { vocabularySize, contextLength } = runner.shape;
  const processors = await loadProcessors(registrations, { vocabulary: options.vocabulary, vocabularySize });
  const breakDown = (error: unknown): never => {
    logger.error({ err: error }, "the engine broke down");
    process.exit(1);
  };
  const constraints = new ThreadedConstraints({
    vocabulary: options.vocabulary,
    settings: options.constraints,
    choiceCountMax: options.settings.slotCountMax,
    onBreakdown: (error) => logger.error({ err: error }, "a thread that computes constraints broke down"),
  });
  const outbox = new EventOutbox({
    intervalMs: options.settings.eventIntervalMs,
    clock: systemClock,
    send: (outputs) =>
      void emit({
        outputs: packOutputs(outputs),
        kvCacheBytes: loop.kvCacheBytes,
        constraintCache: constraints.kept,
      }),
  });
  const loop = new EngineLoop(runner, {
    ...options.settings,
    constraints,
    processors,
    emit: (outputs) => outbox.put(outputs),
  });
  const finished = loop.run().catch(breakDown);
  return {
    ready: { contextLength, vocabularySize, bytesPerPosition: positionBytes(runner.shape), weights },
    receive: (request) => receive(loop, request),
    stop: async () => {
      loop.stop();
      await finished;
      outbox.flush();
      await constraints.close();
      await runner.close();
    },
  };
}

async function openModel(
  options: EngineLoad,
  logger: Logger,
): Promise<{ readonly runner: ModelRunner; readonly weights: string }> {
  const { settings, modelFolder, cacheFolder } = options;
  try {
    const { weights } = await baseHashes(modelFolder, cacheFolder);
    const model = { modelFolder, cacheFolder, weightsHash: weights };
    return { runner: await openGraphRunner({ ...model, settings, clock: systemClock }), weights };
  } catch (error) {
    logger.error({ err: error, modelFolder }, "the model cannot be loaded");
    if (error instanceof ServiceError) throw error;
    throw new ServiceError({
      code: "internal",
      message: `The model in ${modelFolder} cannot be loaded; the log says why.`,
    });
  }
}

function receive(loop: EngineLoop, request: EngineRequest): void {
  switch (request.kind) {
    case "submit":
      return loop.submit(request.key, request.request);
    case "abort":
      return loop.abort(request.key);
    case "stop-choice":
      return loop.stopChoice(request.key, request.choice);
    case "drop-adapter":
      return loop.dropAdapter(request.id);
  }
}
