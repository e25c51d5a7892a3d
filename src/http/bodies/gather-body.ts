// Takes a body's bytes off the connection as they come, within the limits of its route and of all bodies together. They
// are not joined here: joining hundreds of megabytes would hold up every other request.
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { ServiceError } from "../../domain/service-error.ts";
import { wentAway } from "../request-end.ts";

/** Pieces of a body in order; each has a buffer of its own. */
export interface GatheredBody {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly byteCount: number;
}

/** How many bytes all bodies have that are being read or answered, and all long answers. */
export class ByteBudget {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws ServiceError `overloaded` when that many are not left */
  take(count: number): void {
    if (this.#used + count > this.#max) {
      const message = `The bodies and the long answers of all requests in flight have ${this.#used} bytes, and this one asks for ${count} more; at most ${this.#max} are taken (http.bodyBytesInFlight). Try again in 5 s.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
    }
    this.#used += count;
  }

  giveBack(count: number): void {
    this.#used -= count;
  }

  /** Bytes taken and not given back. */
  get used(): number {
    return this.#used;
  }
}

/** What a body may be refused for before the rest of it is read. */
export interface HeadCheck {
  /** What its first bytes say of it; null where they are not enough. */
  readonly find: (head: Buffer) => string | null;
  /** Called once with what was found; rejects with the refusal. Reading goes on meanwhile. */
  readonly check: (found: string) => Promise<void>;
}

/** Of a body's beginning no more is looked at. */
const headBytesMax = 1 << 16;

export interface GatherOptions {
  readonly headers: IncomingHttpHeaders;
  readonly bytesMax: number;
  readonly budget: ByteBudget;
  /** Calls back when the request is over; what the body took of the budget is then given back. */
  readonly onceOver: (giveBack: () => void) => void;
  readonly head?: HeadCheck;
  /** Called before the first byte is read, when nothing speaks against reading. */
  readonly onReading?: () => void;
}

/**
 * Reads the whole body.
 *
 * @throws ServiceError `too_large` for more bytes than allowed, `overloaded` when the budget has none left, `invalid` when
 *   it is not as long as its Content-Length says, `cancelled` when the client goes away, and what the check of its head
 *   throws; the rest of it is then not read
 */
export async function gatherBody(stream: Readable, options: GatherOptions): Promise<GatheredBody> {
  const { headers, bytesMax, budget } = options;
  // Of what is closed already nothing more comes, not even that it closes.
  if (stream.destroyed) throw wentAway();
  const declared = headers["content-length"] === undefined ? null : Number(headers["content-length"]);
  if (declared !== null && declared > bytesMax) throw tooLarge(bytesMax);
  let taken = 0;
  const take = (count: number): void => {
    budget.take(count);
    taken += count;
  };
  options.onceOver(() => budget.giveBack(taken));
  if (declared !== null) take(declared);

  const gathered = declared === null ? new SeparatePieces() : new OnePiece(declared);
  const checkHead = headChecker(options.head);
  let checked: Promise<void> | undefined;
  options.onReading?.();
  await eachPiece(stream, (piece) => {
    const byteCount = gathered.byteCount + piece.length;
    if (byteCount > bytesMax) throw tooLarge(bytesMax);
    if (byteCount > taken) take(byteCount - taken);
    gathered.add(piece);
    return (checked ??= checkHead(gathered));
  });
  await checked;
  if (declared !== null && gathered.byteCount !== declared) throw wrongLength();
  return gathered;
}

/** A body of unknown length. */
class SeparatePieces implements GatheredBody {
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  byteCount = 0;

  add(piece: Uint8Array): void {
    this.pieces.push(new Uint8Array(piece));
    this.byteCount += piece.length;
  }
}

/** A body of declared length, in the one place that its reader needs it in. The system gives memory as it is filled. */
class OnePiece implements GatheredBody {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  byteCount = 0;

  constructor(declared: number) {
    this.#bytes = new Uint8Array(declared);
  }

  get pieces(): readonly Uint8Array<ArrayBuffer>[] {
    return [this.#bytes.subarray(0, this.byteCount)];
  }

  /** What is more than was declared is counted alone. */
  add(piece: Uint8Array): void {
    this.#bytes.set(piece.subarray(0, this.#bytes.length - this.byteCount), this.byteCount);
    this.byteCount += piece.length;
  }
}

/** Calls the check once the head is enough for it. A body in small pieces is looked at only when it has doubled. */
function headChecker(head: HeadCheck | undefined): (body: GatheredBody) => Promise<void> | undefined {
  let nextByteCount = head === undefined ? Infinity : 1;
  return ({ pieces, byteCount }) => {
    if (head === undefined || byteCount < nextByteCount) return undefined;
    nextByteCount = byteCount < headBytesMax ? 2 * byteCount : Infinity;
    const found = head.find(Buffer.concat(pieces, Math.min(byteCount, headBytesMax)));
    if (found === null) return undefined;
    nextByteCount = Infinity;
    return head.check(found);
  };
}

/** Not by iteration, which would end the connection with an error before it could be answered. */
function eachPiece(stream: Readable, onPiece: (piece: Buffer) => Promise<void> | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      stream.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
      settle();
    };
    const refuse = (error: unknown): void => {
      stream.pause();
      end(() => reject(error));
    };
    const onData = (piece: Buffer): void => {
      try {
        onPiece(piece)?.catch(refuse);
      } catch (error) {
        refuse(error);
      }
    };
    const onEnd = (): void => end(resolve);
    const onError = (cause: unknown): void => end(() => reject(wentAway(cause)));
    const onClose = (): void => end(() => reject(wentAway()));
    stream.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The body is larger than ${bytesMax} bytes, the most this route takes; send less at a time.`;
  const faults = [{ location: ["body"], message, type: "too_large" }];
  return new ServiceError({ code: "too_large", faults });
}

function wrongLength(): ServiceError {
  const message = "The body is not as long as its Content-Length says.";
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["body"], message, type: "value_error" }],
  });
}
