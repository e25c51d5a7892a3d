// A request's constraint that can move to another thread. If it exceeds the cost limit of its thread, another thread
// compiles it again, and the request's choices continue there after the tokens that they already have.
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ConstraintCursor, PreparedConstraint, TokenMask } from "./constraint-backend.ts";
import type { Refusal } from "./mask-protocol.ts";
import type { MaskPlace, MaskWorker } from "./mask-worker.ts";

/** Memory that is never written; waiting on it is a plain sleep. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

/** A compiled constraint, and the key by which its thread identifies it. */
export interface Compiled {
  readonly worker: MaskWorker;
  readonly key: number;
  readonly notices: readonly string[];
}

/**
 * Compiles a constraint in another thread after a refusal; returns null if that thread would refuse the constraint
 * too.
 */
type Recompile = (refusal: Refusal, options: { readonly signal: AbortSignal }) => Promise<Compiled> | null;

export class MigratingConstraint implements PreparedConstraint {
  readonly #recompile: Recompile;
  readonly #released = new AbortController();
  readonly #first: Compiled;
  #second: Promise<Compiled> | null = null;

  constructor(compiled: Compiled, recompile: Recompile) {
    this.#first = compiled;
    this.#recompile = recompile;
  }

  get notices(): readonly string[] {
    return this.#first.notices;
  }

  open(tokenIds: readonly number[] = []): ConstraintCursor {
    return new MigratingCursor(this.#first, tokenIds, (refusal) => this.#moved(refusal));
  }

  release(): void {
    const { signal } = this.#released;
    if (signal.aborted) return;
    this.#released.abort();
    releaseKey(this.#first);
    // If the second compilation has not finished, the abort of the signal has already cancelled it.
    void this.#second?.then(releaseKey, () => undefined);
  }

  /** Returns the second compilation, with which choices continue after a refusal. */
  #moved(refusal: Refusal): Promise<Compiled> | null {
    const { signal } = this.#released;
    return (this.#second ??= this.#recompile(refusal, { signal }));
  }
}

class MigratingCursor implements ConstraintCursor {
  readonly #move: (refusal: Refusal) => Promise<Compiled> | null;
  readonly #tokenIds: number[];
  /** Current place; null while the cursor moves to another thread, and once it is closed. */
  #place: MaskPlace | null;
  #isClosed = false;
  #hasMoved = false;
  #failure: unknown = null;

  constructor(
    { worker, key }: Compiled,
    tokenIds: readonly number[],
    move: (refusal: Refusal) => Promise<Compiled> | null,
  ) {
    this.#move = move;
    this.#tokenIds = [...tokenIds];
    this.#place = worker.open(key, tokenIds);
  }

  accept(tokenId: number): void {
    this.#tokenIds.push(tokenId);
    this.#place?.accept(tokenId);
  }

  next(): TokenMask | null {
    if (this.#failure !== null) throw this.#failure;
    const read = this.#place?.read() ?? null;
    if (read === null || "allowed" in read) return read;
    const moved = this.#hasMoved ? null : this.#move(read);
    if (moved === null) throw refused(read);
    this.#hasMoved = true;
    this.#leave();
    void this.#migrate(moved);
    return null;
  }

  waitUntil(endMs: number): void {
    if (this.#place !== null) this.#place.waitUntil(endMs);
    // The move completes when a message arrives, which can only happen between steps. So this sleeps for the time that
    // the caller allows, a few milliseconds.
    else Atomics.wait(nothing, 0, 0, endMs - systemClock.monotonicMs());
  }

  close(): void {
    this.#isClosed = true;
    this.#leave();
  }

  #leave(): void {
    this.#place?.close();
    this.#place = null;
  }

  async #migrate(moved: Promise<Compiled>): Promise<void> {
    try {
      const { worker, key } = await moved;
      if (!this.#isClosed) this.#place = worker.open(key, this.#tokenIds);
    } catch (error) {
      this.#failure = error;
    }
  }
}

function releaseKey({ worker, key }: Compiled): void {
  worker.release(key);
}

/** Creates the error of a request whose constraint is refused. */
export function refused({ message }: Refusal): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
