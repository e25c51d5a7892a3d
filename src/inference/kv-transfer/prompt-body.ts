// Encodes a held prompt as a response body. The pieces of the body are created one after another, so only one is in
// memory at a time. The body consists of a text that identifies the format, the length of the header, the header as
// JSON, the bytes of keys, values and scores, and an authentication code over all of these.
import { timingSafeEqual } from "node:crypto";
import type { HeldPrompt, PromptOrigin, PromptShape } from "../../base/domain/prompt-transfer.ts";
import { answerCode, codeBytes } from "./signature.ts";
import { TransferFailure } from "./transfer-failure.ts";

/** Text at the beginning of a body that identifies the format and its version. */
const beginning = "HONE-KV1";
const lengthBytes = 4;
/** Maximum size of the header in bytes. The token ids of a prompt of a million tokens take 7 MB. */
const headerBytesMax = 16 * 2 ** 20;
/**
 * Size in bytes of a piece that passes between processes. Copying a piece several times takes only a millisecond or
 * two.
 */
export const pieceBytes = 2 ** 20;

interface Signing {
  readonly secret: string;
  readonly handle: string;
}

/** Response body with the KV cache of a prompt. */
export interface PromptBody {
  readonly byteLength: number;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/**
 * Encodes the KV cache of a prompt.
 *
 * @param read returns a copy of `count` bytes of the KV cache from `offset` on
 */
export function encodePromptBody(
  prompt: HeldPrompt,
  read: (offset: number, count: number) => Promise<Uint8Array>,
  signing: Signing,
): PromptBody {
  const header = Buffer.from(JSON.stringify(prompt));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(header.length);
  const head = Buffer.concat([Buffer.from(beginning), length, header]);
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    const code = answerCode(signing.secret, signing.handle).update(head);
    yield head;
    for (let offset = 0; offset < prompt.byteLength; offset += pieceBytes) {
      const piece = await read(offset, Math.min(pieceBytes, prompt.byteLength - offset));
      code.update(piece);
      yield piece;
    }
    yield code.digest();
  }
  return { byteLength: head.length + prompt.byteLength + codeBytes, pieces: pieces() };
}

/** Receiver of a prompt. */
export interface PromptSink {
  /** Called with the header before any data. If this throws an error, reading ends. */
  expect(prompt: HeldPrompt): Promise<void>;
  write(offset: number, bytes: Uint8Array): Promise<void>;
}

/**
 * Reads a body into the sink. Resolves once the whole body was written and its authentication code is valid. Until then
 * no part of it may be used.
 *
 * @throws TransferFailure for a body that is truncated or malformed, or whose code is wrong
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  sink: PromptSink,
  { secret, handle }: Signing,
): Promise<void> {
  const bytes = new ByteReader(body);
  const code = answerCode(secret, handle);
  const next = async (count: number): Promise<Buffer> => {
    const read = await bytes.next(count);
    code.update(read);
    return read;
  };
  if ((await next(beginning.length)).toString("latin1") !== beginning)
    throw broken("it sent no prompt in a known version of the format");
  const headerLength = (await next(lengthBytes)).readUInt32LE();
  if (headerLength > headerBytesMax) throw broken("the prompt's header is too long");
  const prompt = readHeader((await next(headerLength)).toString());
  await sink.expect(prompt);
  for (let offset = 0; offset < prompt.byteLength; offset += pieceBytes)
    await sink.write(offset, await next(Math.min(pieceBytes, prompt.byteLength - offset)));
  const sent = await bytes.next(codeBytes);
  if (!timingSafeEqual(sent, code.digest()) || (await bytes.hasMore()))
    throw broken("the prompt was changed on the way, or sent by a server without this secret");
}

/** Reads given numbers of bytes, one after the other, from chunks of any size. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#chunks = body[Symbol.asyncIterator]();
  }

  async next(count: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(count);
    for (let at = 0; at < count;) {
      if (!(await this.hasMore())) throw broken("the prompt ended early");
      const part = this.#rest.subarray(0, count - at);
      bytes.set(part, at);
      at += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return bytes;
  }

  async hasMore(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const chunk = await this.#chunks.next();
      if (chunk.done === true) return false;
      this.#rest = chunk.value;
    }
    return true;
  }
}

function readHeader(text: string): HeldPrompt {
  try {
    const header = JSON.parse(text) as HeldPrompt;
    const { origin, tokenIds, shape, blockPositions, byteLength } = header;
    if (isOrigin(origin) && isShape(shape) && [tokenIds, blockPositions, [byteLength]].every(areCounts))
      return { origin, tokenIds, shape, blockPositions, byteLength };
  } catch {
    // The header is not JSON. The same error is thrown below as for any other invalid header.
  }
  throw broken("the prompt's header cannot be read");
}

function areCounts(values: readonly unknown[]): boolean {
  return Array.isArray(values) && values.every((value) => Number.isSafeInteger(value) && Number(value) >= 0);
}

function isOrigin({ weights, precision, build, adapter }: PromptOrigin): boolean {
  return [weights, precision, build, adapter ?? ""].every((part) => typeof part === "string");
}

function isShape({ layerCount, positionSize, stateSize, vocabularySize }: PromptShape): boolean {
  return areCounts([layerCount, positionSize, stateSize, vocabularySize]);
}

function broken(what: string): TransferFailure {
  return new TransferFailure("broken", what);
}
