// The ways in which a server may be asked for the same chats, none of which may change a bit of their answers. A setting of the
// server that computes otherwise is a line here.

export interface ServedMode {
  readonly name: string;
  /** Flags of `serve`. */
  readonly flags: readonly string[];
  /** Most tokens that are drafted; absent for as many as usual. */
  readonly draftTokensMax?: number;
  /** How many chats are under way at a time. */
  readonly together: number;
  /** How often all are asked of one server; the answers of the last time count. */
  readonly rounds?: number;
  /** Extra fields of the chats, which do not change the answers. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** Fields of chats of others, one of which is always under way. */
  readonly company?: Readonly<Record<string, unknown>>;
}

const nothingKept = { flags: ["--engine-prefix-cache-percent=0"], draftTokensMax: 0 };

/** Each by itself on a server that keeps and drafts nothing: what the answers of all others are compared with. */
export const servedAlone: ServedMode = { name: "over HTTP, alone", ...nothingKept, together: 1 };

export const servedModes: readonly ServedMode[] = [
  { name: "over HTTP, 16 at once", ...nothingKept, together: 16 },
  { name: "over HTTP, prompts kept", flags: [], together: 8, rounds: 2 },
  { name: "over HTTP, drafted", flags: [], together: 1 },
  {
    name: "over HTTP, interrupted by better ones",
    flags: ["--engine-scheduling=priority"],
    together: 16,
    more: { priority: 1 },
    company: { priority: 0, n: 100, max_tokens: 4 },
  },
];
