// A model that a client trains: its slot, its training process, and its operations in order. The trained weights exist
// only in the process until they are saved. A model without work can leave its slot to another one: its weights are then
// saved, and its next operation starts a new process from them.
import type { Clock } from "../../base/domain/clock.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { TrainerStart } from "../trainer/trainer.ts";
import type { LiveProcess } from "./process/start-process.ts";
import { OrderedOperations, type Submission } from "./ordered-operations.ts";
import type { SessionResult } from "./results.ts";
import type { RunKey } from "./run-names.ts";
import type { SessionSettings } from "./settings.ts";
import type { Slot } from "./training-slots.ts";

export interface LiveModelOptions {
  readonly run: RunKey;
  readonly model: TrainedModel;
  /** The client's name for the base model. */
  readonly baseName: string;
  readonly start: TrainerStart;
  /** Asks for a slot, or for a place in the queue. */
  readonly requestSlot: () => Slot;
  readonly startProcess: (model: TrainedModel, signal: AbortSignal) => Promise<LiveProcess>;
  readonly clock: Clock;
  readonly settings: SessionSettings;
}

export class LiveModel {
  readonly run: RunKey;
  readonly model: TrainedModel;
  readonly baseName: string;
  /** Resolves when the model can be trained. Rejects if its start fails, or if it ends before. */
  readonly ready: Promise<void>;
  /** True if operations have added a gradient since the last optimizer step. A saved state would lack it. */
  hasGradient = false;
  readonly #options: LiveModelOptions;
  readonly #operations: OrderedOperations;
  readonly #ending = new AbortController();
  #slot: Slot;
  #process: LiveProcess | null = null;
  /** Saved weights of a model without a process; null while it has one. */
  #parked: TrainerStart | null = null;
  #starting: Promise<void>;
  #usedMs: number;

  constructor(options: LiveModelOptions) {
    const { run, model, baseName, clock, settings } = options;
    this.#options = options;
    this.run = run;
    this.model = model;
    this.baseName = baseName;
    this.#usedMs = clock.monotonicMs();
    this.#slot = options.requestSlot();
    this.ready = this.#starting = this.#start(options.start);
    this.ready.catch(() => this.#slot.leave());
    this.#operations = new OrderedOperations(clock, settings, this.ready);
  }

  /** Reason why the model waits for a training process; null if it does not wait. */
  waitReason(): string | null {
    return this.#slot.reason();
  }

  /** Time in milliseconds since the last operation; 0 while one runs. */
  get idleMs(): number {
    const { clock } = this.#options;
    if (this.#operations.pendingCount > 0 || this.waitReason() !== null) this.#usedMs = clock.monotonicMs();
    return clock.monotonicMs() - this.#usedMs;
  }

  /** True once the process has ended by itself. */
  get isGone(): boolean {
    return this.#process?.isGone ?? false;
  }

  /**
   * Submits an operation; see {@link OrderedOperations.submit}.
   *
   * @param operate called when all earlier operations have ended
   */
  submit(
    submission: Submission,
    operate: (process: LiveProcess) => Promise<SessionResult>,
    begin: (result: Promise<SessionResult>) => string,
  ): string {
    this.#usedMs = this.#options.clock.monotonicMs();
    return this.#operations.submit(submission, () => this.#operate(operate), begin);
  }

  /** Lets later operations run without an operation whose request was refused. */
  passOver(seqId: number): void {
    this.#operations.passOver(seqId);
  }

  sweep(): void {
    this.#operations.sweep();
  }

  /** True if the model has a process, but neither an operation nor a gradient that a saved state would lack. */
  get canPark(): boolean {
    return this.#process !== null && !this.isGone && !this.hasGradient && this.#operations.pendingCount === 0;
  }

  /**
   * Ends the process until the next operation, so that another model can train. Does nothing if an operation comes first.
   *
   * @param save saves the weights, and returns the start of a new process from them
   */
  park(save: (process: LiveProcess) => Promise<TrainerStart>): Promise<void> {
    return this.#operations.between(async () => {
      if (this.#process === null || this.hasGradient) return;
      this.#parked = await save(this.#process);
      await this.#process.stop();
      this.#process = null;
      this.#slot.leave();
    });
  }

  /** Ends the training process. Everything since the last save is lost. Idempotent. */
  async end(reason: string): Promise<void> {
    this.#ending.abort(ended(reason));
    await this.#starting.catch(() => undefined);
    await this.#process?.stop();
    this.#slot.leave();
  }

  async #start(start: TrainerStart): Promise<void> {
    const { startProcess, model } = this.#options;
    const { signal } = this.#ending;
    await Promise.race([this.#slot.taken, rejectOn(signal)]);
    signal.throwIfAborted();
    this.#process = await startProcess(model, signal);
    await this.#process.call("open", { start });
  }

  async #operate(operate: (process: LiveProcess) => Promise<SessionResult>): Promise<SessionResult> {
    this.#ending.signal.throwIfAborted();
    await this.ready;
    if (this.#parked !== null) await this.#resume(this.#parked);
    if (this.#process === null) throw ended("its process did not start");
    return operate(this.#process);
  }

  async #resume(start: TrainerStart): Promise<void> {
    this.#slot = this.#options.requestSlot();
    this.#starting = this.#start(start);
    try {
      await this.#starting;
      this.#parked = null;
    } catch (error) {
      await this.#process?.stop();
      this.#process = null;
      this.#slot.leave();
      throw error;
    }
  }
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function ended(reason: string): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The training of this model has ended: ${reason}. Create a training client from the last saved weights.`,
  });
}
