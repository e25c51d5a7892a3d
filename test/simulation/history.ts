// Everything that the checker knows about a simulated world, as plain data: the clients' requests and answers in the
// order in which they ended, and the final state of the world.

/** Outcome of a request: done, refused (never done), or unknown. */
export type Outcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unknown" };

export interface SeenJob {
  readonly state: string;
  readonly resultStep: number | null;
  /** Events of the job, oldest first. */
  readonly events: readonly string[];
}

export interface ServedVersion {
  readonly step: number;
  /** Content of the adapter; null if its files were missing or had another hash than the stored one. */
  readonly matrices: string | null;
  /** True if the version still existed after its files had been read. */
  readonly isLive: boolean;
}

type Asked =
  | { readonly what: "make model"; readonly modelName: string; readonly outcome: Outcome<string> }
  | { readonly what: "delete model"; readonly modelId: string; readonly outcome: Outcome<number> }
  | {
      readonly what: "delete versions";
      readonly modelId: string;
      readonly outcome: Outcome<readonly number[]>;
    }
  | { readonly what: "import"; readonly modelId: string; readonly outcome: Outcome<number> }
  | { readonly what: "serve"; readonly modelId: string; readonly outcome: Outcome<ServedVersion | null> }
  | {
      readonly what: "submit";
      readonly modelId: string;
      readonly key: string;
      readonly outcome: Outcome<string>;
    }
  | { readonly what: "cancel"; readonly jobId: string; readonly outcome: Outcome<string> }
  | { readonly what: "read job"; readonly jobId: string; readonly outcome: Outcome<SeenJob | null> }
  | { readonly what: "watch job"; readonly jobId: string; readonly outcome: Outcome<readonly string[]> }
  | { readonly what: "list jobs"; readonly outcome: Outcome<readonly string[]> }
  | { readonly what: "upload"; readonly content: string; readonly outcome: Outcome<string> }
  | { readonly what: "read file"; readonly fileId: string; readonly outcome: Outcome<string | null> }
  | { readonly what: "delete file"; readonly fileId: string; readonly outcome: Outcome<null> }
  | {
      readonly what: "record answer";
      readonly modelId: string;
      readonly requestId: string;
      readonly outcome: Outcome<boolean>;
    }
  | {
      readonly what: "give feedback";
      readonly recordId: string;
      readonly note: string;
      readonly outcome: Outcome<null>;
    }
  | { readonly what: "read feedback"; readonly recordId: string; readonly outcome: Outcome<string | null> }
  | { readonly what: "list feedback"; readonly outcome: Outcome<readonly string[]> };

export type Operation = Asked & {
  /** Times in simulated milliseconds. */
  readonly calledMs: number;
  readonly endedMs: number;
};

/** Contents of the database and the disk after all faults have ended and every server has stopped. */
export interface Remains {
  readonly models: readonly string[];
  readonly jobs: readonly {
    readonly id: string;
    readonly modelId: string;
    readonly state: string;
    readonly resultStep: number | null;
    readonly key: string | null;
    /** Pinned seed and the version that the job started from; null if the job never began. */
    readonly pins: { readonly seed: string; readonly startStep: number; readonly resultStep: number } | null;
    readonly events: readonly string[];
  }[];
  readonly versions: readonly {
    readonly modelId: string;
    readonly step: number;
    readonly jobId: string | null;
    /** Stored hash of the adapter's files. */
    readonly adapterHash: string | null;
    readonly isDeleted: boolean;
  }[];
  readonly files: readonly string[];
  readonly answers: readonly string[];
  readonly feedback: readonly { readonly id: string; readonly note: string }[];
  /** True if the disk was full at times. A removal could not be recorded in advance then. */
  readonly wasFull: boolean;
  /** Contents of files by path, and paths of empty folders with null. */
  readonly disk: ReadonlyMap<string, string | null>;
}
