// An HTTP request in parts, and its serialization with a declared length or in chunks. Both may be incorrect.
import type { Random } from "../../src/base/domain/random.ts";

export interface HttpMessage {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  /** Headers in the order in which they are sent; a name may occur twice. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null if the request has no body. */
  readonly body: Buffer | null;
  readonly isChunked: boolean;
  readonly lineEnd: string;
}

export function withHeader(message: HttpMessage, name: string, value: string | null): HttpMessage {
  const others = message.headers.filter(([other]) => other !== name);
  return { ...message, headers: value === null ? others : [...others, [name, value]] };
}

/**
 * Returns the bytes of the whole request. Declares the body's length, unless the message already has a header about it.
 */
export function bytesOf(message: HttpMessage, random: Random): Buffer {
  const { method, target, version, lineEnd, body, isChunked } = message;
  const isFramed = message.headers.some(([name]) => /^(content-length|transfer-encoding)$/.test(name));
  const framing: readonly (readonly [string, string])[] =
    isFramed || body === null
      ? []
      : [isChunked ? ["transfer-encoding", "chunked"] : ["content-length", String(body.length)]];
  const lines = [...message.headers, ...framing].map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${target} ${version}`.trimEnd(), ...lines, "", ""].join(lineEnd);
  const payload = body ?? Buffer.alloc(0);
  return Buffer.concat([Buffer.from(head, "latin1"), isChunked ? inChunks(payload, random) : payload]);
}

/** Encodes the body as chunks of random sizes, occasionally with an extension or a trailer. */
function inChunks(body: Buffer, random: Random): Buffer {
  const pieces: Buffer[] = [];
  let start = 0;
  while (start < body.length) {
    const size = 1 + random.index(Math.max(1, body.length >> 2));
    const chunk = body.subarray(start, start + size);
    const extension = random.uniform() < 0.1 ? ";name=value" : "";
    pieces.push(Buffer.from(`${chunk.length.toString(16)}${extension}\r\n`), chunk, Buffer.from("\r\n"));
    start += size;
  }
  pieces.push(Buffer.from(random.uniform() < 0.1 ? "0\r\nx-trailer: yes\r\n\r\n" : "0\r\n\r\n"));
  return Buffer.concat(pieces);
}
