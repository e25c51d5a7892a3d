// Splits training data into several requests, so that each stays within the server's limits.
import type { Datum, Encoding } from "./wire/encoding.ts";

/** Maximum number and size of the data in one request, as in the service's own client. */
const chunkLimits = { count: 1024, bytes: 5_000_000 } as const;

/**
 * Yields the data in chunks, in order. A datum that exceeds the size limit becomes a chunk of its own, which the server
 * may accept or refuse.
 */
export function* chunksOf(
  data: readonly Datum[],
  encoding: Pick<Encoding, "datum">,
  limits: { readonly count: number; readonly bytes: number } = chunkLimits,
): Generator<readonly Datum[], void> {
  let chunk: Datum[] = [];
  let byteCount = 0;
  for (const datum of data) {
    const { length } = encoding.datum(datum);
    if (chunk.length > 0 && (chunk.length >= limits.count || byteCount + length > limits.bytes)) {
      yield chunk;
      chunk = [];
      byteCount = 0;
    }
    chunk.push(datum);
    byteCount += length;
  }
  if (chunk.length > 0) yield chunk;
}
