// Encodes a token sequence as bytes: ids, mask, and the log-probabilities of the trained tokens if any is known.
// Numbers are little-endian, as on all machines that run Hone. Pure.
import { trainedIndices, type TokenSequence } from "../../trajectories/sequences.ts";

/** Size of the header in bytes. It has three 32-bit counts: of tokens, of trained tokens and of log-probabilities. */
const headBytes = 12;

/**
 * Encodes a sequence: the header, the ids, the log-probabilities of trained tokens, and the mask as one bit per token.
 */
export function bytesOfSequence({ tokenIds, mask, oldLogprobs }: TokenSequence): Buffer {
  const known = trainedIndices({ mask }).map((index) => oldLogprobs[index]);
  const trainedCount = known.length;
  const logprobs = Float32Array.from(known.every(Number.isNaN) ? [] : known);
  const bits = new Uint8Array(Math.ceil(mask.length / 8));
  mask.forEach((trains, index) => (bits[index >> 3] |= trains << (index & 7)));
  const head = Uint32Array.of(tokenIds.length, trainedCount, logprobs.length);
  return Buffer.concat([head, tokenIds, logprobs, bits].map(bytesOf));
}

/** Reads the numbers of tokens and trained tokens from the header of an encoded sequence. */
export function countsOfSequence(
  bytes: Buffer,
  start: number,
): { readonly tokenCount: number; readonly trainedCount: number } {
  return { tokenCount: bytes.readUInt32LE(start), trainedCount: bytes.readUInt32LE(start + 4) };
}

/** Decodes a sequence. The returned ids are a view of `bytes`, which must begin at a multiple of 4 in their buffer. */
export function sequenceOfBytes(bytes: Uint8Array): TokenSequence {
  const { buffer, byteOffset } = bytes;
  const [tokenCount, , logprobCount] = new Uint32Array(buffer, byteOffset, 3);
  const tokenIds = new Int32Array(buffer, byteOffset + headBytes, tokenCount);
  const logprobs = new Float32Array(buffer, byteOffset + headBytes + 4 * tokenCount, logprobCount);
  const bits = bytes.subarray(headBytes + 4 * (tokenCount + logprobCount));
  const mask = new Uint8Array(tokenCount);
  const oldLogprobs = new Float32Array(tokenCount).fill(NaN);
  let next = 0;
  for (let index = 0; index < tokenCount; index++) {
    mask[index] = (bits[index >> 3] >> (index & 7)) & 1;
    if (mask[index] === 1 && logprobCount > 0) oldLogprobs[index] = logprobs[next++];
  }
  return { tokenIds, mask, oldLogprobs };
}

function bytesOf(values: Uint32Array | Int32Array | Float32Array | Uint8Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}
