// Modes in which a server gets the same chats. No mode may change a bit of the answers. A new server setting that
// changes the computation needs an entry here.

export interface ServedMode {
  readonly name: string;
  /** Flags of `serve`. */
  readonly flags: readonly string[];
  /** Maximum number of drafted tokens; absent for the default. */
  readonly draftTokensMax?: number;
  /** Number of concurrent chats. */
  readonly together: number;
  /** How often all chats are sent to one server. Only the answers of the last round are compared. */
  readonly rounds?: number;
  /** Additional fields of the chats, which do not change the answers. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** Fields of chats by other clients. One such chat is always running. */
  readonly company?: Readonly<Record<string, unknown>>;
}

const nothingKept = { flags: ["--engine-prefix-cache-percent=0"], draftTokensMax: 0 };

/**
 * Runs each chat without others, on a server without a prefix cache and drafts. All other modes must give the same
 * answers.
 */
export const servedAlone: ServedMode = { name: "over HTTP, alone", ...nothingKept, together: 1 };

export const servedModes: readonly ServedMode[] = [
  { name: "over HTTP, 16 concurrent", ...nothingKept, together: 16 },
  { name: "over HTTP, prefixes cached", flags: [], together: 8, rounds: 2 },
  { name: "over HTTP, with drafts", flags: [], together: 1 },
  {
    name: "over HTTP, preempted",
    flags: ["--engine-scheduling=priority"],
    together: 16,
    more: { priority: 1 },
    company: { priority: 0, n: 100, max_tokens: 4 },
  },
];
