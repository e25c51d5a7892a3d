// Requests take so much and no more: data in as many parts as that takes.
import type { Datum, Encoding } from "./wire/encoding.ts";

/** As the service's own client cuts. */
const chunkLimits = { count: 1024, bytes: 5_000_000 } as const;

/** In their order. One that is larger than a request may be has one of its own, which the server refuses or takes. */
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
