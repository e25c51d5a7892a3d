// A case of tools/bench/standstill.ts: a heavy request, how many run concurrently, and how the client reads its
// answer.

/** A request that once blocked the server, or might. */
export interface Case {
  readonly name: string;
  readonly path: (modelId: string) => string;
  readonly scheme?: "Basic";
  /** Content type of the body; JSON by default. */
  readonly contentType?: string;
  /** Builds a body just before it is sent, since it may be large; null for a GET. */
  readonly body: ((modelId: string, index: number) => Buffer) | null;
  /** Number of concurrent requests, numbered by `index`; 1 by default. */
  readonly times?: number;
  /** True to read each answer at 4 MiB a second, for ten seconds at most; by default as fast as it arrives. */
  readonly isReadSlowly?: boolean;
}

/** Returns a JSON list that repeats the item `count` times. */
export function list(item: string, count: number): Buffer {
  const items = Buffer.from(`${item},`);
  return Buffer.concat([Buffer.from("["), Buffer.alloc(items.length * count - 1, items), Buffer.from("]")]);
}

/** Returns a JSON object with one long member. */
export function object(before: string, member: Buffer, after = "}"): Buffer {
  return Buffer.concat([Buffer.from(before), member, Buffer.from(after)]);
}
