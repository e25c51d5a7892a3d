// Receives a body's bytes, within the limit of its route and the budget for all bodies in memory. A complete body stays
// in pieces, because joining hundreds of megabytes would delay every other request.
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import { TenantShares } from "../../../base/domain/sharing/tenant-shares.ts";
import { clientDisconnected } from "../request-lifecycle.ts";

/** A received body: its pieces in order, each in a buffer of its own. */
export interface GatheredBody {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly byteCount: number;
}

/**
 * Size in bytes below which a body does not count towards the budget, so that large bodies never cause the refusal of a
 * small one.
 */
export const smallBodyBytes = 1 << 16;

/**
 * Memory budget in bytes for all bodies and long answers in progress, divided among entities ({@link TenantShares}).
 * Bytes count when they arrive, so a client that only declares a large body takes nothing from others.
 */
export class ByteBudget {
  readonly #shares: TenantShares;
  #smallBytes = 0;

  constructor(max: number) {
    this.#shares = new TenantShares(max);
  }

  /** Returns an empty account for the bytes of one body. */
  forBody(tenant: string): HeldBytes {
    return new HeldBytes(tenant, this.#shares, {
      freeBytes: smallBodyBytes - 1,
      onFree: (count) => (this.#smallBytes += count),
    });
  }

  /**
   * Returns an empty account for the bytes of one answer. The answer's first `freeBytes` bytes do not count towards the
   * budget.
   */
  forAnswer(tenant: string, freeBytes: number): HeldBytes {
    return new HeldBytes(tenant, this.#shares, { freeBytes, keepsFree: true });
  }

  /** Number of bytes in use: the bytes that count towards the budget, and the bytes of small bodies. */
  get used(): number {
    return this.#shares.used + this.#smallBytes;
  }
}

interface FreeBytes {
  /** Number of bytes of the body or answer that do not count towards the budget. */
  readonly freeBytes: number;
  /**
   * True if the first `freeBytes` never count. If false, all bytes count as soon as there are more than `freeBytes`.
   */
  readonly keepsFree?: boolean;
  /** Called with each change in the number of bytes that do not count. */
  readonly onFree?: (count: number) => void;
}

/** Account of the bytes of one body or answer in a {@link ByteBudget}. Its owner must release it. */
export class HeldBytes {
  readonly tenant: string;
  readonly #shares: TenantShares;
  readonly #free: FreeBytes;
  #count = 0;
  #counted = 0;
  #isReleased = false;

  constructor(tenant: string, shares: TenantShares, free: FreeBytes) {
    this.tenant = tenant;
    this.#shares = shares;
    this.#free = free;
  }

  /**
   * Adds bytes to the account.
   *
   * @throws ServiceError `overloaded` if the tenant's share has no room for them
   */
  add(count: number): void {
    if (this.#isReleased) return;
    const total = this.#count + count;
    const counted = this.#countedOf(total);
    if (!this.#shares.take(this.tenant, counted - this.#counted))
      throw this.#refusal(counted - this.#counted);
    this.#free.onFree?.(total - counted - (this.#count - this.#counted));
    this.#count = total;
    this.#counted = counted;
  }

  /**
   * Checks that the account could grow to `total` bytes now, without counting these bytes.
   *
   * @throws ServiceError `overloaded` if the tenant's share has no room for them
   */
  requireRoomFor(total: number): void {
    const wanted = this.#countedOf(total) - this.#counted;
    if (wanted > this.#shares.roomFor(this.tenant)) throw this.#refusal(wanted);
  }

  /** Releases all bytes of the account. Idempotent; bytes added later are ignored. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#shares.change(this.tenant, -this.#counted);
    this.#free.onFree?.(this.#counted - this.#count);
  }

  #countedOf(total: number): number {
    const { freeBytes, keepsFree = false } = this.#free;
    if (total <= freeBytes) return 0;
    return keepsFree ? total - freeBytes : total;
  }

  #refusal(wanted: number): ServiceError {
    const used = this.#shares.usedBy(this.tenant);
    const room = this.#shares.roomFor(this.tenant);
    const message = `The large bodies and long answers of this entity's requests in flight have ${used} bytes, and this one needs ${wanted} more; ${room} are left to it (half of what others leave of ${this.#shares.max}). Try again in 5 s, or send less at a time.`;
    return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
  }
}

/** Check of a body's first bytes, which can refuse the body before the remaining bytes are read. */
export interface HeadCheck {
  /** Returns the value to check, from the first bytes of the body; null if it needs more bytes. */
  readonly find: (head: Buffer) => string | null;
  /**
   * Checks the value that `find` returned, while the rest of the body arrives. Called once; rejects to refuse the body.
   */
  readonly check: (found: string) => Promise<void>;
}

/** Maximum number of bytes at the beginning of a body that a head check can see. */
const headBytesMax = 1 << 16;

export interface GatherOptions {
  readonly headers: IncomingHttpHeaders;
  readonly bytesMax: number;
  /** Account for the received bytes; the caller releases it when the request is over. */
  readonly held: HeldBytes;
  readonly head?: HeadCheck;
  /** Called once the checks that need no body have passed, before the first byte is read. */
  readonly onReading?: () => void;
}

/**
 * Reads the whole body. On an error, stops reading and releases the bytes.
 *
 * @throws ServiceError `too_large` if the body exceeds the route's limit, `overloaded` if the sender's share has no
 * room, `invalid` if the length differs from Content-Length, `cancelled` if the client disconnects; also the errors of
 * the head check
 */
export async function gatherBody(stream: Readable, options: GatherOptions): Promise<GatheredBody> {
  const { held } = options;
  try {
    return await gather(stream, options);
  } catch (error) {
    held.release();
    throw error;
  }
}

async function gather(
  stream: Readable,
  { headers, bytesMax, held, head, onReading }: GatherOptions,
): Promise<GatheredBody> {
  // If the stream has already closed, it emits no more events, not even `close`, so waiting would never end.
  if (stream.destroyed) throw clientDisconnected();
  const declared = headers["content-length"] === undefined ? null : Number(headers["content-length"]);
  if (declared !== null && declared > bytesMax) throw tooLarge(bytesMax);
  // Refuses a body that does not fit before it is read, rather than when the share runs out.
  if (declared !== null) held.requireRoomFor(declared);

  const gathered = declared === null ? new SeparatePieces() : new OnePiece(declared);
  const checkHead = headChecker(head);
  let checked: Promise<void> | undefined;
  onReading?.();
  await forEachPiece(stream, held.tenant, (piece) => {
    if (gathered.byteCount + piece.length > bytesMax) throw tooLarge(bytesMax);
    held.add(piece.length);
    gathered.add(piece);
    return (checked ??= checkHead(gathered));
  });
  await checked;
  if (declared !== null && gathered.byteCount !== declared) throw wrongLength();
  return gathered;
}

/** A body whose length is not declared. Each received piece stays in its own buffer. */
class SeparatePieces implements GatheredBody {
  readonly pieces: Uint8Array<ArrayBuffer>[] = [];
  byteCount = 0;

  add(piece: Uint8Array): void {
    this.pieces.push(new Uint8Array(piece));
    this.byteCount += piece.length;
  }
}

/**
 * Fraction of the declared length that must arrive before the buffer is allocated. A client that only declares a length
 * thus takes no memory.
 */
const arrivedPart = 1 / 16;

/**
 * A body of declared length, stored in one buffer. The operating system commits the buffer's memory only as bytes are
 * stored in it.
 */
class OnePiece implements GatheredBody {
  readonly #declared: number;
  /** Pieces that arrived before the buffer was allocated; null after that. */
  #first: SeparatePieces | null = new SeparatePieces();
  #bytes = new Uint8Array(0);
  byteCount = 0;

  constructor(declared: number) {
    this.#declared = declared;
  }

  get pieces(): readonly Uint8Array<ArrayBuffer>[] {
    return this.#first?.pieces ?? [this.#bytes.subarray(0, this.byteCount)];
  }

  /** Stores a piece. Bytes beyond the declared length are counted, but not stored. */
  add(piece: Uint8Array): void {
    const offset = this.byteCount;
    this.byteCount += piece.length;
    if (this.#first === null) return this.#put(piece, offset);
    this.#first.add(piece);
    if (this.byteCount < this.#declared * arrivedPart) return;
    this.#bytes = new Uint8Array(this.#declared);
    const { pieces } = this.#first;
    this.#first = null;
    let place = 0;
    for (const one of pieces) {
      this.#put(one, place);
      place += one.length;
    }
  }

  #put(piece: Uint8Array, offset: number): void {
    this.#bytes.set(
      piece.subarray(0, Math.max(0, this.#declared - offset)),
      Math.min(offset, this.#declared),
    );
  }
}

/**
 * Returns a function that searches the first bytes for the value, and runs the check once it is found. After an
 * unsuccessful search, the function waits until the body is twice as long, so that many small pieces stay cheap.
 */
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

/**
 * Minimum size in bytes of a piece after which the reader waits for its next turn. Reading a smaller piece costs so
 * little that the reader continues immediately.
 */
const turnBytes = 1 << 14;

/**
 * Calls `onPiece` for each piece. Iterating over the stream would close the connection on an error, before the request
 * is answered. Tenants take turns to read large pieces; otherwise each connection would deliver megabytes before
 * anything else runs.
 */
export function forEachPiece(
  stream: Readable,
  tenant: string,
  onPiece: (piece: Buffer) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (settle: () => void): void => {
      isOver = true;
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
      if (isOver || piece.length < turnBytes) return;
      stream.pause();
      loopTurns.call(tenant, () => {
        if (!isOver) stream.resume();
      });
    };
    const onEnd = (): void => end(resolve);
    const onError = (cause: unknown): void => end(() => reject(clientDisconnected(cause)));
    const onClose = (): void => end(() => reject(clientDisconnected()));
    stream.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The body is larger than ${bytesMax} bytes, the limit of this route; send less at a time.`;
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
