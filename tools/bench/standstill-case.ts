// What tools/bench/standstill.ts sends: a heavy request, how often at once, and how its answer is read.

/** A request that once held the server, or might. */
export interface Case {
  readonly name: string;
  readonly path: (modelId: string) => string;
  readonly scheme?: "Basic";
  /** Of the body; absent is JSON. */
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
