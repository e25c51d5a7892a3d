// Aborts running calls of rollouts that have ended, so that no tokens are sampled for them. The server that ends a
// rollout aborts its own calls at once. Every server also looks periodically for rollouts that expired, or that another
// server ended.
import type { Clock } from "../../base/domain/clock.ts";
import type { Service } from "../../base/domain/lifecycle.ts";
import type { RolloutStore } from "../../base/domain/rollouts/rollout.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { repeatingService } from "../../base/domain/waiting/repeat-until.ts";

export interface RunningCallsDependencies {
  readonly rollouts: Pick<RolloutStore, "find">;
  readonly clock: Clock;
  /** Called with the error of a failed periodic check. The next check tries again. */
  readonly onFault: (error: unknown) => void;
}

/** Interval in milliseconds at which the states of rollouts with running calls are read. */
const lookMs = 2000;

export class RunningCalls implements Service {
  readonly #dependencies: RunningCallsDependencies;
  readonly #calls = new Map<string, Set<AbortController>>();
  readonly #life: Service;

  constructor(dependencies: RunningCallsDependencies) {
    this.#dependencies = dependencies;
    const { clock, onFault } = dependencies;
    const repetition = { clock, pauseMs: lookMs, onFault, pausesFirst: true };
    this.#life = repeatingService("running calls of rollouts", repetition, () => this.look());
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Adds a running call of a rollout. Its signal aborts when the rollout ends; `leave` removes the call. */
  enter(rolloutId: string): { readonly signal: AbortSignal; readonly leave: () => void } {
    const controller = new AbortController();
    const calls = this.#calls.get(rolloutId) ?? new Set();
    this.#calls.set(rolloutId, calls.add(controller));
    const leave = (): void => {
      calls.delete(controller);
      if (calls.size === 0 && this.#calls.get(rolloutId) === calls) this.#calls.delete(rolloutId);
    };
    return { signal: controller.signal, leave };
  }

  /** Aborts the calls of all rollouts that have ended. */
  async look(): Promise<void> {
    for (const id of this.#calls.keys()) await this.abortEnded(id);
  }

  /** Aborts the calls of a rollout if it has ended. */
  async abortEnded(rolloutId: string): Promise<void> {
    const calls = this.#calls.get(rolloutId);
    if (calls === undefined) return;
    const rollout = await this.#dependencies.rollouts.find(rolloutId, this.#dependencies.clock.now());
    if (rollout?.state === "open") return;
    const message = `This call was aborted, because its rollout ${whatOf(rollout?.state)}.`;
    for (const call of calls) call.abort(new ServiceError({ code: "conflict", message }));
  }
}

function whatOf(state: "finished" | "cancelled" | "expired" | undefined): string {
  if (state === undefined) return "was deleted with its model";
  return state === "expired" ? "expired" : `was ${state}`;
}
