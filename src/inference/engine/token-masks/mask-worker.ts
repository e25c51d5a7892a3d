// A running mask thread as the engine's thread sees it, with the places on the thread's board. The thread starts
// immediately. It counts as broken after its first error, or when it makes no progress for too long; all later calls
// then fail.
import { Worker } from "node:worker_threads";
import { present } from "../../../base/domain/assert.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { CacheCounts } from "./constraint-cache.ts";
import type { TokenMask } from "./constraint-backend.ts";
import { MaskBoard } from "./mask-board.ts";
import type { MaskAnswer, MaskRequest, MaskThreadData, Preparation, Refusal } from "./mask-protocol.ts";
import { SharedSignals } from "./shared-signals.ts";

export interface MaskWorkerOptions {
  /** Readable name of the thread, for messages. */
  readonly name: string;
  /** Module that the thread runs. */
  readonly module: URL;
  readonly data: Omit<MaskThreadData, "signals" | "board">;
  /**
   * Time in milliseconds without progress after which the thread counts as broken. Within the limits, no single piece
   * of work takes this long.
   */
  readonly silenceDeadlineMs: number;
  /** Called when the thread counts as broken. */
  readonly onBreak: (error: Error) => void;
}

/** A place on the board (memory shared with the thread) for the masks of one choice. */
export interface MaskPlace {
  /** Adds a token to the choice, and starts computing the next mask. */
  accept(tokenId: number): void;
  /**
   * Returns the next mask, or the reason why it cannot be computed; null while it is being computed.
   *
   * @throws ServiceError `internal` if the thread broke down
   */
  read(): TokenMask | Refusal | null;
  waitUntil(endMs: number): void;
  /** Releases the place. Must be called at most once. */
  close(): void;
}

interface Asked {
  readonly resolve: (outcome: Preparation | Refusal) => void;
  readonly reject: (error: unknown) => void;
}

/** The latest request for a mask at a place in use: its number and its outcome. */
interface Turn {
  turn: number;
  /** Reason why the mask of this turn cannot be computed; null if it can. */
  refusal: Refusal | null;
}

/**
 * Number of checks for progress within one deadline. With several checks, a machine that was suspended for a while does
 * not make the thread seem broken.
 */
const checksPerDeadline = 10;

export class MaskWorker {
  readonly #options: MaskWorkerOptions;
  readonly #worker: Worker;
  readonly #signals = new SharedSignals();
  readonly #board: MaskBoard;
  readonly #freePlaces: number[];
  /**
   * For each place, the number of the last turn, that is, of the last requested mask. The numbers continue when another
   * choice gets the place.
   */
  readonly #turns: Int32Array;
  readonly #open = new Map<number, Turn>();
  readonly #asked = new Map<number, Asked>();
  #failure: ServiceError | null = null;
  #watch: NodeJS.Timeout | null = null;

  constructor(options: MaskWorkerOptions) {
    this.#options = options;
    const { module, data } = options;
    const { placeCount, vocabulary } = data;
    this.#board = new MaskBoard(placeCount, Math.ceil(vocabulary.ends.length / 32));
    this.#freePlaces = Array.from({ length: placeCount }, (_, place) => place);
    this.#turns = new Int32Array(placeCount);
    const memory = { board: this.#board.memory, signals: this.#signals.memory };
    this.#worker = new Worker(module, { workerData: { ...data, ...memory } satisfies MaskThreadData });
    this.#worker.on("message", (answer: MaskAnswer) => this.#receive(answer));
    this.#worker.on("error", (error) => this.#break(error));
    this.#worker.on("exit", () => this.#break(new Error("The thread ended.")));
    // The thread does not keep the process alive, except while a caller waits for it.
    this.#worker.unref();
  }

  get isBroken(): boolean {
    return this.#failure !== null;
  }

  /** Statistics of the thread's cache. */
  get kept(): CacheCounts {
    return this.#signals.kept;
  }

  /**
   * Compiles a constraint.
   *
   * @param options.signal aborting it removes the constraint from the queue, and rejects with the signal's reason
   * @returns information about the constraint, or the reason why the constraint cannot be served
   */
  async prepare(
    key: number,
    constraint: Constraint,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Preparation | Refusal> {
    signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
    const drop = (): void => {
      this.#asked.get(key)?.reject(signal.reason);
      this.#asked.delete(key);
      this.release(key);
    };
    signal.addEventListener("abort", drop, { once: true });
    try {
      return await new Promise<Preparation | Refusal>((resolve, reject) => {
        this.#asked.set(key, { resolve, reject });
        this.#worker.ref();
        this.#post({ kind: "prepare", key, constraint });
      });
    } finally {
      signal.removeEventListener("abort", drop);
      if (this.#asked.size === 0) this.#worker.unref();
    }
  }

  /** Releases a constraint that is prepared, or waits to be prepared. */
  release(key: number): void {
    this.#post({ kind: "release", key });
  }

  /**
   * Gives a choice a place on the board (memory shared with the thread), and starts computing the choice's next mask.
   *
   * @param key number of the prepared constraint
   * @param tokenIds tokens of the choice so far
   */
  open(key: number, tokenIds: readonly number[]): MaskPlace {
    const place = present(this.#freePlaces.pop(), "a place for each choice that is computed");
    const state: Turn = { turn: ++this.#turns[place], refusal: null };
    this.#open.set(place, state);
    this.#post({ kind: "open", key, place, turn: state.turn, tokenIds });
    return {
      accept: (tokenId) => {
        state.turn = ++this.#turns[place];
        this.#board.ask(place, { turn: state.turn, tokenId });
        this.#ring();
      },
      read: () => {
        if (this.#failure !== null) throw this.#failure;
        return this.#board.read(place, state.turn) ?? state.refusal;
      },
      waitUntil: (endMs) => this.#board.waitUntil(place, state.turn, endMs),
      close: () => {
        this.#open.delete(place);
        this.#freePlaces.push(place);
        this.#post({ kind: "close", place });
      },
    };
  }

  async stop(): Promise<void> {
    this.#fail(new Error("The thread is stopped."));
    await this.#worker.terminate();
  }

  #post(request: MaskRequest): void {
    if (this.#failure !== null) return;
    this.#worker.postMessage(request, []);
    this.#ring();
  }

  #ring(): void {
    this.#signals.ring();
    this.#watch ??= this.#beginWatch();
  }

  #receive(answer: MaskAnswer): void {
    if (answer.kind === "prepared") {
      this.#asked.get(answer.key)?.resolve(answer.outcome);
      this.#asked.delete(answer.key);
      return;
    }
    const state = this.#open.get(answer.place);
    if (state?.turn === answer.turn) state.refusal = answer.refusal;
  }

  /** Starts checking that the thread makes progress, for as long as it has unanswered requests. */
  #beginWatch(): NodeJS.Timeout {
    const { silenceDeadlineMs } = this.#options;
    let last = this.#signals.finishedCount;
    let silentChecks = 0;
    const look = (): void => {
      if (!this.#hasPending()) return this.#endWatch();
      const finished = this.#signals.finishedCount;
      silentChecks = finished === last ? silentChecks + 1 : 0;
      last = finished;
      if (silentChecks >= checksPerDeadline)
        this.#break(new Error(`The thread finished nothing for ${silenceDeadlineMs} ms.`));
    };
    return setInterval(look, silenceDeadlineMs / checksPerDeadline).unref();
  }

  #endWatch(): void {
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }

  #hasPending(): boolean {
    if (this.#asked.size > 0) return true;
    return [...this.#open].some(([place, { turn }]) => !this.#board.isDone(place, turn));
  }

  #break(cause: Error): void {
    if (this.#failure !== null) return;
    this.#fail(cause);
    this.#options.onBreak(cause);
    void this.#worker.terminate();
  }

  #fail(cause: Error): void {
    const message = `The ${this.#options.name} broke down while it served this request; try again.`;
    this.#failure ??= new ServiceError({ code: "internal", message, cause });
    this.#endWatch();
    for (const { reject } of this.#asked.values()) reject(this.#failure);
    this.#asked.clear();
  }
}
