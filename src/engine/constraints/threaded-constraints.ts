// Constraints whose masks another thread computes, started when the first one comes. A thread that breaks down takes the
// engine's process with it, as a step that throws does.
import { Worker } from "node:worker_threads";
import { present } from "../../domain/assert.ts";
import type { Constraint } from "../../domain/constraint.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { TokenVocabulary } from "../../domain/vocabulary.ts";
import type { GrammarLimits } from "../../regex/limits.ts";
import type { ConstraintCursor, Constraints, PreparedConstraint, TokenMask } from "./constraints.ts";
import { MaskBoard } from "./mask-board.ts";
import type { MaskAnswer, MaskRequest, MaskThreadData } from "./mask-protocol.ts";

export interface ThreadedConstraintsOptions {
  readonly vocabulary: TokenVocabulary;
  readonly limits: GrammarLimits;
  /** How many choices are held to constraints at a time. */
  readonly choiceCountMax: number;
  /** Called when the thread breaks down, after which nothing more can be asked. */
  readonly onBreakdown: (error: Error) => void;
}

/** No mask takes as long, whatever the limits; the thread is stuck. */
const maskDeadlineMs = 10_000;

export class ThreadedConstraints implements Constraints {
  readonly #options: ThreadedConstraintsOptions;
  readonly #board: MaskBoard;
  readonly #freePlaces: number[];
  /** Turns are counted on when a place gets another owner, so that none is taken for an earlier one. */
  readonly #turns: Int32Array;
  readonly #awaited = new Map<number, (answer: MaskAnswer) => void>();
  #worker: Worker | null = null;
  #lastKey = 0;

  constructor(options: ThreadedConstraintsOptions) {
    this.#options = options;
    const { choiceCountMax, vocabulary } = options;
    this.#board = new MaskBoard(choiceCountMax, Math.ceil(vocabulary.ends.length / 32));
    this.#freePlaces = Array.from({ length: choiceCountMax }, (_, place) => place);
    this.#turns = new Int32Array(choiceCountMax);
  }

  async prepare(constraint: Constraint): Promise<PreparedConstraint> {
    const key = ++this.#lastKey;
    const { refusal } = await new Promise<MaskAnswer>((resolve) => {
      this.#awaited.set(key, resolve);
      this.#post({ kind: "prepare", key, constraint });
    });
    if (refusal !== null) throw new ServiceError({ code: "unsupported", message: refusal });
    let isReleased = false;
    return {
      open: () => this.#open(key),
      release: () => {
        if (!isReleased) this.#post({ kind: "release", key });
        isReleased = true;
      },
    };
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = null;
  }

  #open(key: number): ConstraintCursor {
    const place = present(this.#freePlaces.pop(), "a place for each choice that is computed");
    let turn = ++this.#turns[place];
    this.#post({ kind: "open", key, place, turn });
    let isOpen = true;
    return {
      accept: (tokenId) => {
        turn = ++this.#turns[place];
        this.#post({ kind: "accept", place, tokenId, turn });
      },
      next: () => maskOf(this.#board.wait(place, turn, maskDeadlineMs)),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#post({ kind: "close", place });
        this.#freePlaces.push(place);
      },
    };
  }

  #post(request: MaskRequest): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(request, []);
  }

  #start(): Worker {
    const { vocabulary, limits, choiceCountMax: placeCount, onBreakdown } = this.#options;
    const workerData: MaskThreadData = { vocabulary, limits, placeCount, memory: this.#board.memory };
    const worker = new Worker(new URL("./mask-thread.js", import.meta.url), { workerData });
    worker.on("message", (answer: MaskAnswer) => {
      this.#awaited.get(answer.key)?.(answer);
      this.#awaited.delete(answer.key);
    });
    worker.on("error", onBreakdown);
    // It keeps no process alive that has nothing else to do.
    worker.unref();
    return worker;
  }
}

function maskOf(result: ReturnType<MaskBoard["wait"]>): TokenMask {
  if (result === "failed") {
    const message =
      "The constraint allows no next token, or costs more to follow than its limits allow; make it simpler.";
    throw new ServiceError({ code: "unsupported", message });
  }
  if (result === "late") {
    throw new ServiceError({ code: "internal", message: "The thread that computes masks does not answer." });
  }
  return result;
}
