// A request's constraint that can move to another thread. If it exceeds the cost limit of its thread, the other thread
// compiles it again, and the request's choices continue there after the tokens that they already have.
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ConstraintCursor, PreparedConstraint, TokenMask } from "./constraint-backend.ts";
import type { Refusal } from "./mask-protocol.ts";
import type { MaskPlace, MaskWorker } from "./mask-worker.ts";

/** Memory that nobody writes. Waiting for it to change is a way to sleep. */
const nothing = new Int32Array(new SharedArrayBuffer(4));

/** A compiled constraint, and the key by which its thread identifies it. */
export interface Compiled {
  readonly worker: MaskWorker;
  readonly key: number;
  readonly notices: readonly string[];
}

/**
 * Compiles a constraint in another thread after the first thread refused it. Returns null if the other thread would
 * refuse it too.
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
    // A compilation that has not finished was already cancelled when the signal aborted.
    void this.#second?.then(releaseKey, () => undefined);
  }

  /**
   * Returns the compilation in the other thread, after the first thread refused the constraint; null if the other
   * thread would refuse it too. All choices share this compilation.
   */
  #moved(refusal: Refusal): Promise<Compiled> | null {
    const { signal } = this.#released;
    return (this.#second ??= this.#recompile(refusal, { signal }));
  }
}

class MigratingCursor implements ConstraintCursor {
  readonly #move: (refusal: Refusal) => Promise<Compiled> | null;
  readonly #tokenIds: number[];
  /**
   * Place of the choice in the memory that the engine shares with the thread that computes the choice's masks. Null
   * while the choice moves to another thread, and once the cursor is closed.
   */
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
    // Only a message can end the move to the other thread, and messages arrive only between steps. So this call just
    // sleeps for the time that the caller allows, a few milliseconds.
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

/** Returns the error for a request whose constraint was refused. */
export function refused({ message }: Refusal): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
