// Base models made ready to serve: tokenizer, template, defaults and an engine each.
import type { Clock } from "../domain/clock.ts";
import type { EngineStatus } from "../domain/generation.ts";
import type { BaseModel } from "../domain/model.ts";
import type { ServedBase } from "../chat/served-base.ts";
import { readGenerationDefaults } from "../chat/served-base.ts";
import { createChildEngine, type ChildEngine } from "../engine/child-engine.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import type { Logger } from "../telemetry/logger.ts";
import { loadChatTemplate } from "../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../tokenizer/load-tokenizer.ts";
import type { HoneConfig } from "./config.ts";

/** A served base whose engine runs in a child process. */
export type EngineBase = ServedBase & { readonly engine: ChildEngine };

interface Options {
  readonly cacheFolder: string;
  readonly config: HoneConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Checks every model folder and builds its engine, which is not started yet. */
export function createServedBases(
  models: readonly BaseModel[],
  options: Options,
): Promise<readonly EngineBase[]> {
  return Promise.all(
    models.map(async (model) => {
      const { cacheFolder, config, clock, logger } = options;
      const [tokenizer, template, defaults] = await Promise.all([
        loadTokenizer(model.folder),
        loadChatTemplate(model.folder, clock),
        readGenerationDefaults(model.folder),
      ]);
      const { contextLength } = readModelConfig(model.folder);
      const engine = createChildEngine({
        modelFolder: model.folder,
        cacheFolder,
        settings: config.engine,
        clock,
        logger: logger.child({ model: model.name }),
        logLevel: config.server.logLevel,
      });
      return { model, engine, tokenizer, template, defaults, contextLength };
    }),
  );
}

/** All engines as one: as well as the worst of them, with the sums of their numbers. */
export function engineOverview(bases: readonly EngineBase[]): EngineStatus {
  const order = ["ready", "starting", "restarting", "stopped", "failed"] as const;
  const all = bases.map((base) => ({ name: base.model.name, status: base.engine.status() }));
  const worst = all.reduce((one, other) =>
    order.indexOf(other.status.state) > order.indexOf(one.status.state) ? other : one,
  );
  const sum = (read: (status: EngineStatus) => number): number =>
    all.reduce((total, { status }) => total + read(status), 0);
  return {
    state: worst.status.state,
    reason: worst.status.reason === "" ? "" : `${worst.name}: ${worst.status.reason}`,
    runningCount: sum((status) => status.runningCount),
    waitingCount: sum((status) => status.waitingCount),
    waitingCountMax: sum((status) => status.waitingCountMax),
    kvCacheBytes: sum((status) => status.kvCacheBytes),
    kvCacheBytesMax: sum((status) => status.kvCacheBytesMax),
    restartCount: sum((status) => status.restartCount),
  };
}
