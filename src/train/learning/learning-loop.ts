// Runs the learning of those models that the database assigns to this server, a few at a time.
import type { Service } from "../../base/domain/lifecycle.ts";
import type { Learning } from "../../base/domain/learning/learning-store.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { repeatingService } from "../../base/domain/waiting/repeat-until.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { StepDependencies } from "./step-dependencies.ts";
import { takeStep } from "./take-step.ts";

export interface LoopDependencies extends StepDependencies {
  /** Returns the id of this server in the database, which changes if its lease is lost. */
  readonly owner: () => string;
  readonly logger: Logger;
}

export class LearningLoop implements Service {
  readonly #dependencies: LoopDependencies;
  /** Steps in progress, by model id. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #life: Service;

  constructor(dependencies: LoopDependencies) {
    this.#dependencies = dependencies;
    const { clock, settings, logger } = dependencies;
    const onFault = (error: unknown): void =>
      logger.warn({ err: error }, "learning models could not be read; trying again");
    this.#life = repeatingService(
      "learning",
      { clock, pauseMs: settings.lookMs, onFault },
      (signal) => this.#look(signal),
      () => Promise.all(this.#running.values()),
    );
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Stops after the requests in progress. Another server, or the next start, repeats an unfinished evaluation. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Begins a step for each model that has none in progress, up to the limit. */
  async #look(signal: AbortSignal): Promise<void> {
    const { learning: store, owner, settings } = this.#dependencies;
    const server = owner();
    const waiting = (await store.claim(server)).filter(({ modelId }) => !this.#running.has(modelId));
    // The models whose last step was the longest ago come first.
    const rank = ({ modelId }: Learning): number => this.#lastSteps.get(modelId) ?? 0;
    waiting.sort((one, other) => rank(one) - rank(other));
    for (const learning of waiting.slice(0, Math.max(0, settings.modelsAtOnce - this.#running.size))) {
      const { modelId } = learning;
      this.#lastSteps.set(modelId, ++this.#stepCount);
      const done = this.#step(learning, server, signal).finally(() => this.#running.delete(modelId));
      this.#running.set(modelId, done);
    }
  }

  readonly #lastSteps = new Map<string, number>();
  #stepCount = 0;

  async #step(learning: Learning, owner: string, signal: AbortSignal): Promise<void> {
    const { learning: store, logger } = this.#dependencies;
    const { modelId } = learning;
    const hold = { modelId, owner };
    const fault = await takeStep(this.#dependencies, learning, hold, signal).then(
      () => null,
      (error: unknown) => {
        if (!signal.aborted)
          logger.warn({ err: error, modelId }, "learning could not continue; trying again");
        return error instanceof ServiceError ? error.message : "An internal error; see the server's log.";
      },
    );
    if (signal.aborted) return;
    await store
      .note(hold, { fault })
      .catch((error: unknown) =>
        logger.warn({ err: error, modelId }, "a fault of learning could not be stored"),
      );
  }
}
