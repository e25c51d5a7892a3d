// Operations that clients have submitted, and whose results they fetch later. Results are kept in memory, for a limited
// time and up to a limited size per entity.
import { newUuid } from "../../base/domain/random.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { byteCountOf, type SessionResult } from "./results.ts";
import type { SessionSettings } from "./settings.ts";

/** The reason why an operation waits; null if it runs, or waits only for earlier operations. */
export type WaitReason = string | null;

export type FutureState =
  | { readonly kind: "pending"; readonly reason: WaitReason }
  | { readonly kind: "done"; readonly result: SessionResult }
  | { readonly kind: "failed"; readonly error: ServiceError };

interface Future {
  readonly entity: string;
  /** Resolves when the operation has ended, with or without an error. */
  readonly ended: Promise<void>;
  readonly reason: () => WaitReason;
  outcome: Exclude<FutureState, { readonly kind: "pending" }> | null;
  endedMs: number;
  byteCount: number;
}

type Limits = Pick<SessionSettings, "resultMs" | "futuresPerEntityMax" | "resultBytesPerEntity">;

export class Futures {
  readonly #clock: Clock;
  readonly #limits: Limits;
  /** Futures by id, the oldest first. */
  readonly #futures = new Map<string, Future>();

  constructor(clock: Clock, limits: Limits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Refuses further operations of an entity that has too many.
   *
   * @throws ServiceError `overloaded`
   */
  requireRoom(entity: string): void {
    this.#forget(entity, this.#limits.futuresPerEntityMax - 1);
    const count = this.#of(entity).length;
    if (count < this.#limits.futuresPerEntityMax) return;
    throw new ServiceError({
      code: "overloaded",
      message: `${count} operations are in progress, the maximum; fetch the results of some first.`,
      retryAfterSeconds: 1,
    });
  }

  /**
   * Adds an operation that has begun. Returns its id.
   *
   * @param prefix beginning of the id, which names the kind of operation
   */
  add(
    entity: string,
    prefix: string,
    operation: Promise<SessionResult>,
    reason: () => WaitReason = () => null,
  ): string {
    const id = `${prefix}-${newUuid()}`;
    const end = (outcome: Future["outcome"], byteCount: number): void => {
      Object.assign(future, { outcome, byteCount, endedMs: this.#clock.monotonicMs() });
      this.#forget(entity, this.#limits.futuresPerEntityMax);
    };
    const ended = operation.then(
      (result) => end({ kind: "done", result }, byteCountOf(result)),
      (error: unknown) => end({ kind: "failed", error: asServiceError(error) }, 512),
    );
    const future: Future = { entity, ended, reason, outcome: null, endedMs: 0, byteCount: 0 };
    this.#futures.set(id, future);
    return id;
  }

  /**
   * Waits until the operation has ended, at most `waitMs`.
   *
   * @returns null if there is no such operation of the entity
   */
  async wait(
    entity: string,
    id: string,
    { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
  ): Promise<FutureState | null> {
    const future = this.#futures.get(id);
    if (future === undefined || future.entity !== entity) return null;
    if (future.outcome === null) {
      const over = new AbortController();
      const either = AbortSignal.any([over.signal, signal]);
      // The sleep rejects only because the operation has ended, or the client has left.
      const late = this.#clock.sleep(waitMs, { signal: either }).catch(() => undefined);
      await Promise.race([future.ended, late]);
      over.abort();
    }
    return future.outcome ?? { kind: "pending", reason: future.reason() };
  }

  /** Removes the results that have been kept for `resultMs`. */
  sweep(): void {
    const { resultMs } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    for (const [id, { outcome, endedMs }] of this.#futures)
      if (outcome !== null && nowMs - endedMs > resultMs) this.#futures.delete(id);
  }

  #of(entity: string): readonly (readonly [string, Future])[] {
    return [...this.#futures].filter(([, future]) => future.entity === entity);
  }

  /** Removes the oldest results of an entity until it is within its limits. Keeps operations in progress. */
  #forget(entity: string, countMax: number): void {
    const own = this.#of(entity);
    let count = own.length;
    let bytes = own.reduce((sum, [, { byteCount }]) => sum + byteCount, 0);
    for (const [id, { outcome, byteCount }] of own) {
      if (count <= countMax && bytes <= this.#limits.resultBytesPerEntity) return;
      if (outcome === null) continue;
      this.#futures.delete(id);
      count -= 1;
      bytes -= byteCount;
    }
  }
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = "The operation failed; the server's log says why.";
  return new ServiceError({ code: "internal", message, cause: error });
}
