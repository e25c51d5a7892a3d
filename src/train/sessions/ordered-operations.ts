// Runs the operations of one model one after the other, in the order of their sequence numbers. Operations may arrive
// in another order, and repeatedly. A client numbers them from 1 without gaps.
import type { Clock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { SessionResult } from "./results.ts";
import type { SessionSettings } from "./settings.ts";

/** An operation as a client submits it. */
export interface Submission {
  /** Sequence number; 0 to run after all operations so far. */
  readonly seqId: number;
  /** Hash of the request, which is equal if the request is repeated. */
  readonly fingerprint: string;
}

interface Waiting {
  readonly run: () => void;
  readonly fail: (error: ServiceError) => void;
  readonly sinceMs: number;
}

/** Number of operations that are remembered, to recognize repeated requests. */
const rememberedMax = 4096;

export class OrderedOperations {
  readonly #clock: Clock;
  readonly #limits: Pick<SessionSettings, "operationsMax" | "gapMs">;
  readonly #waiting = new Map<number, Waiting>();
  readonly #known = new Map<number, { readonly future: string; readonly fingerprint: string }>();
  #next = 1;
  #greatest = 0;
  #runningCount = 0;
  #previous: Promise<unknown>;

  /** @param ready promise that must settle before the first operation runs */
  constructor(
    clock: Clock,
    limits: Pick<SessionSettings, "operationsMax" | "gapMs">,
    ready: Promise<unknown>,
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.#previous = ready.catch(() => undefined);
  }

  /** Number of operations that run or wait. */
  get pendingCount(): number {
    return this.#waiting.size + this.#runningCount;
  }

  /**
   * Submits an operation. Returns the id of its future; a repeated request gets the same id again.
   *
   * @param begin called before the operation runs, with a promise of its result; returns the id of the new future
   * @throws ServiceError `conflict` if another operation has this sequence number, `overloaded` if too many operations
   * wait
   */
  submit(
    { seqId: given, fingerprint }: Submission,
    operate: () => Promise<SessionResult>,
    begin: (result: Promise<SessionResult>) => string,
  ): string {
    const seqId = given === 0 ? this.#greatest + 1 : given;
    const known = this.#known.get(seqId);
    if (known?.fingerprint === fingerprint) return known.future;
    if (known !== undefined || seqId < this.#next) throw reused(seqId);
    const { operationsMax } = this.#limits;
    if (this.pendingCount >= operationsMax || seqId >= this.#next + operationsMax)
      throw tooMany(operationsMax);
    this.#greatest = Math.max(this.#greatest, seqId);
    const result = new Promise<SessionResult>((resolve, reject) => {
      const run = (): void => {
        this.#runningCount += 1;
        this.#previous = this.#previous
          .then(operate)
          .then(resolve, reject)
          .finally(() => (this.#runningCount -= 1));
      };
      this.#waiting.set(seqId, { run, fail: reject, sinceMs: this.#clock.monotonicMs() });
    });
    const future = begin(result);
    this.#remember(seqId, { future, fingerprint });
    this.#run();
    return future;
  }

  /** Fails operations that have waited too long for an operation with a lower sequence number. */
  sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [seqId, { fail, sinceMs }] of this.#waiting) {
      if (nowMs - sinceMs <= this.#limits.gapMs) continue;
      this.#waiting.delete(seqId);
      fail(missing(seqId, this.#next));
    }
  }

  #run(): void {
    for (let next = this.#waiting.get(this.#next); next !== undefined; next = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next);
      this.#next += 1;
      next.run();
    }
  }

  #remember(seqId: number, known: { readonly future: string; readonly fingerprint: string }): void {
    this.#known.set(seqId, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > rememberedMax) this.#known.delete(oldest);
  }
}

function reused(seqId: number): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `The model has had another operation with seq_id ${seqId}; give each operation the next number.`,
  });
}

function tooMany(operationsMax: number): ServiceError {
  return new ServiceError({
    code: "overloaded",
    message: `${operationsMax} operations of the model wait, the maximum; wait for the results of some first.`,
    retryAfterSeconds: 1,
  });
}

function missing(seqId: number, next: number): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `The operation with seq_id ${seqId} has waited too long for that with seq_id ${next}, which never came.`,
  });
}
