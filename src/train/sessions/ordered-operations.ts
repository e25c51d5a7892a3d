// Runs the operations of one model one after the other, in the order of their sequence numbers. Operations may arrive
// in another order, and repeatedly. A client numbers them from 1; a number whose operation was refused or never came is
// passed over, so that one wrong request does not end the training.
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

/** Number of operations that are remembered, to recognize repeated requests. */
const rememberedMax = 4096;

export class OrderedOperations {
  readonly #clock: Clock;
  readonly #limits: Pick<SessionSettings, "operationsMax" | "gapMs">;
  /** Functions that run the operations that have arrived, by sequence number. */
  readonly #waiting = new Map<number, () => void>();
  /** Sequence numbers without an operation. If it still arrives, it runs at once. */
  readonly #missing = new Set<number>();
  readonly #known = new Map<number, { readonly future: string; readonly fingerprint: string }>();
  #next = 1;
  #greatest = 0;
  #runningCount = 0;
  #submittedMs = 0;
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
    const isLate = seqId < this.#next && this.#missing.has(seqId);
    if (known !== undefined || (seqId < this.#next && !isLate)) throw reused(seqId);
    const { operationsMax } = this.#limits;
    if (this.pendingCount >= operationsMax || seqId >= this.#next + operationsMax)
      throw tooMany(operationsMax);
    this.#greatest = Math.max(this.#greatest, seqId);
    this.#submittedMs = this.#clock.monotonicMs();
    this.#missing.delete(seqId);
    let run = (): void => undefined;
    const result = new Promise<SessionResult>((resolve, reject) => {
      run = () => {
        this.#runningCount += 1;
        this.#previous = this.#previous
          .then(operate)
          .then(resolve, reject)
          .finally(() => (this.#runningCount -= 1));
      };
    });
    const future = begin(result);
    this.#remember(seqId, { future, fingerprint });
    if (isLate) run();
    else this.#waiting.set(seqId, run);
    this.#run();
    return future;
  }

  /** Runs a task that has no sequence number after all operations that have begun, and before all later ones. */
  between(task: () => Promise<void>): Promise<void> {
    this.#runningCount += 1;
    const result = this.#previous.then(task).finally(() => (this.#runningCount -= 1));
    this.#previous = result.catch(() => undefined);
    return result;
  }

  /** Lets later operations run without this one, whose request was refused. */
  passOver(seqId: number): void {
    const isNear = seqId >= this.#next && seqId < this.#next + this.#limits.operationsMax;
    if (!isNear || this.#known.has(seqId)) return;
    this.#missing.add(seqId);
    this.#run();
  }

  /** If operations have waited too long for lower sequence numbers, passes over these numbers. */
  sweep(): void {
    if (this.#waiting.size === 0 || this.#clock.monotonicMs() - this.#submittedMs <= this.#limits.gapMs)
      return;
    for (let seqId = this.#next; !this.#waiting.has(seqId); seqId++) this.#missing.add(seqId);
    this.#run();
  }

  #run(): void {
    while (this.#waiting.size > 0) {
      const run = this.#waiting.get(this.#next);
      if (run === undefined && !this.#missing.has(this.#next)) break;
      this.#waiting.delete(this.#next);
      this.#next += 1;
      run?.();
    }
    for (const seqId of this.#missing) if (seqId < this.#next - rememberedMax) this.#missing.delete(seqId);
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
