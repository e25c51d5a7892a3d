// What clients asked of a simulated world and what they were told, as plain data in the order of their ends, and what was
// found in the world when all was over. The checker knows nothing else.

/** What a client was told: that it was done, that it was not and never will be, or nothing that it can rely on. */
export type Outcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unknown" };

export interface SeenJob {
  readonly state: string;
  readonly resultStep: number | null;
  /** Of its events, the oldest first. */
  readonly events: readonly string[];
}

export interface ServedVersion {
  readonly step: number;
  /** What its adapter holds; null where its files were not there, or not those that were stored. */
  readonly matrices: string | null;
  /** Whether the version was still one when its files had been looked at. */
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
  /** Milliseconds of the world. */
  readonly calledMs: number;
  readonly endedMs: number;
};

/** What is in the database and on the disk when every server has stopped, after all faults were over. */
export interface Remains {
  readonly models: readonly string[];
  readonly jobs: readonly {
    readonly id: string;
    readonly modelId: string;
    readonly state: string;
    readonly resultStep: number | null;
    readonly key: string | null;
    /** The seed of its pins and the version that it started from; null where it never began. */
    readonly pins: { readonly seed: string; readonly startStep: number; readonly resultStep: number } | null;
    readonly events: readonly string[];
  }[];
  readonly versions: readonly {
    readonly modelId: string;
    readonly step: number;
    readonly jobId: string | null;
    /** Of its adapter's files, as it was stored. */
    readonly adapterHash: string | null;
    readonly isDeleted: boolean;
  }[];
  readonly files: readonly string[];
  readonly answers: readonly string[];
  readonly feedback: readonly { readonly id: string; readonly note: string }[];
  /** Whether the disk was full at times: what removes then cannot say before what it is about to remove. */
  readonly wasFull: boolean;
  /** Contents by paths, and the paths of empty folders with null. */
  readonly disk: ReadonlyMap<string, string | null>;
}
