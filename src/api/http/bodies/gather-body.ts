// Takes a body's bytes off the connection as they come, within the limits of its route and of all bodies together. They
// are not joined here: joining hundreds of megabytes would hold up every other request.
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import { TenantShares } from "../../../base/domain/sharing/tenant-shares.ts";
import { wentAway } from "../request-life.ts";

/** Pieces of a body in order; each has a buffer of its own. */
export interface GatheredBody {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly byteCount: number;
}

/** Bodies below this many bytes are not counted, so that no small request is refused because of large ones. */
export const smallBodyBytes = 1 << 16;

/**
 * Bytes in memory of all bodies that are being read or answered, and of all long answers, shared out among entities
 * ({@link TenantShares}). Bytes count when they arrive: what a client only announces takes nothing from others.
 */
export class ByteBudget {
  readonly #shares: TenantShares;
  #smallBytes = 0;

  constructor(max: number) {
    this.#shares = new TenantShares(max);
  }

  /** The bytes of one body; nothing at first. */
  forBody(tenant: string): HeldBytes {
    return new HeldBytes(tenant, this.#shares, {
      freeBytes: smallBodyBytes - 1,
      onFree: (count) => (this.#smallBytes += count),
    });
  }

  /** The bytes of one answer beyond those that every answer may have; nothing at first. */
  forAnswer(tenant: string, freeBytes: number): HeldBytes {
    return new HeldBytes(tenant, this.#shares, { freeBytes, keepsFree: true });
  }

  /** Bytes in memory: counted ones and those of small bodies. */
  get used(): number {
    return this.#shares.used + this.#smallBytes;
  }
}

interface FreeBytes {
  /** So many are free. */
  readonly freeBytes: number;
  /** True if they stay free when there are more. */
  readonly keepsFree?: boolean;
  /** Called with the change in free bytes. */
  readonly onFree?: (count: number) => void;
}

/** Bytes that one body or answer holds; to be released. */
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

  /** Adds bytes that have arrived. @throws ServiceError `overloaded` if the tenant has no room for them */
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

  /** Takes nothing. @throws ServiceError `overloaded` if so many bytes in all would not fit now */
  requireRoomFor(total: number): void {
    const wanted = this.#countedOf(total) - this.#counted;
    if (wanted > this.#shares.roomFor(this.tenant)) throw this.#refusal(wanted);
  }

  /** Idempotent; nothing is added afterwards. */
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
  /** Holds what arrives; the caller releases it when the request is over. */
  readonly held: HeldBytes;
  readonly head?: HeadCheck;
  /** Called before the first byte is read, when nothing speaks against reading. */
  readonly onReading?: () => void;
}

/**
 * Reads the whole body.
 *
 * @throws ServiceError `too_large` for more bytes than allowed, `overloaded` when its sender's share has no room for them,
 *   `invalid` when it is not as long as its Content-Length says, `cancelled` when the client goes away, and what the check of
 *   its head throws; the rest of it is then not read, and nothing of it is held
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
  // Of what is closed already nothing more comes, not even that it closes.
  if (stream.destroyed) throw wentAway();
  const declared = headers["content-length"] === undefined ? null : Number(headers["content-length"]);
  if (declared !== null && declared > bytesMax) throw tooLarge(bytesMax);
  // A body that cannot fit is refused at once, not when the room runs out.
  if (declared !== null) held.requireRoomFor(declared);

  const gathered = declared === null ? new SeparatePieces() : new OnePiece(declared);
  const checkHead = headChecker(head);
  let checked: Promise<void> | undefined;
  onReading?.();
  await eachPiece(stream, held.tenant, (piece) => {
    if (gathered.byteCount + piece.length > bytesMax) throw tooLarge(bytesMax);
    held.add(piece.length);
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

/** Memory for the announced length is asked for once this part of it has arrived: before, an announcement costs nothing. */
const arrivedPart = 1 / 16;

/** A body of declared length, in the one place that its reader needs it in. The system gives memory as it is filled. */
class OnePiece implements GatheredBody {
  readonly #declared: number;
  /** Pieces that arrived before there was a place for all. */
  #first: SeparatePieces | null = new SeparatePieces();
  #bytes = new Uint8Array(0);
  byteCount = 0;

  constructor(declared: number) {
    this.#declared = declared;
  }

  get pieces(): readonly Uint8Array<ArrayBuffer>[] {
    return this.#first?.pieces ?? [this.#bytes.subarray(0, this.byteCount)];
  }

  /** Bytes beyond the declared length are only counted. */
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

/** Pieces below this do not wait for a turn: small bodies are read at once. */
const turnBytes = 1 << 14;

/**
 * Not by iteration, which would end the connection with an error before it could be answered. Large pieces come in turns of
 * the tenant: the system would hand over megabytes of each connection before anything else is looked at.
 */
export function eachPiece(
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
