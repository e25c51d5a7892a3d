// A case of tools/bench/standstill.ts: a heavy request, how many run concurrently, and how the client reads its
// answer.

/** A request that once held the server, or might. */
export interface Case {
  readonly name: string;
  readonly path: (modelId: string) => string;
  readonly scheme?: "Basic";
  /** Content type of the body; JSON by default. */
  readonly contentType?: string;
  /** Made just before it is sent, since it may be large; null for a GET. */
  readonly body: ((modelId: string, index: number) => Buffer) | null;
  /** How many are sent at once, by their index; absent is one. */
  readonly times?: number;
  /** Each answer is read at 4 MiB a second, for ten seconds at most; absent is as fast as it comes. */
  readonly isReadSlowly?: boolean;
}

/** A JSON list of `count` times the item. */
export function list(item: string, count: number): Buffer {
  const items = Buffer.from(`${item},`);
  return Buffer.concat([Buffer.from("["), Buffer.alloc(items.length * count - 1, items), Buffer.from("]")]);
}

/** A JSON object with one long member. */
export function object(before: string, member: Buffer, after = "}"): Buffer {
  return Buffer.concat([Buffer.from(before), member, Buffer.from(after)]);
}
