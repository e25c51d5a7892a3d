// Type of a case in tools/bench/standstill.ts: a heavy request, how many copies of it to send concurrently, and how the
// client reads the response.

/** A request that blocked the server in the past, or might. */
export interface Case {
  readonly name: string;
  readonly path: (modelId: string) => string;
  readonly scheme?: "Basic";
  /** Content type of the body; JSON by default. */
  readonly contentType?: string;
  /** Builds the body just before it is sent, because a body may be large; null for a GET request. */
  readonly body: ((modelId: string, index: number) => Buffer) | null;
  /** Number of concurrent requests, each with its own `index`; 1 by default. */
  readonly times?: number;
  /**
   * True to read each response at 4 MiB per second for at most ten seconds. By default, responses are read as fast as
   * they arrive.
   */
  readonly isReadSlowly?: boolean;
}

/** Returns a JSON array that repeats the item `count` times. */
export function list(item: string, count: number): Buffer {
  const items = Buffer.from(`${item},`);
  return Buffer.concat([Buffer.from("["), Buffer.alloc(items.length * count - 1, items), Buffer.from("]")]);
}

/** Returns a JSON object whose last member is long. */
export function object(before: string, member: Buffer, after = "}"): Buffer {
  return Buffer.concat([Buffer.from(before), member, Buffer.from(after)]);
}
