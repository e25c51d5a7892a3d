// How far a copy is, for whoever waits for it.

export type Progress =
  /** A table is begun. */
  | { readonly kind: "table"; readonly table: string; readonly index: number; readonly count: number }
  /** Rows of it that are done. */
  | { readonly kind: "rows"; readonly table: string; readonly rows: number }
  /** Files that are done, and their bytes; of all, as far as they are known. */
  | {
      readonly kind: "files";
      readonly files: number;
      readonly filesInAll: number;
      readonly bytes: number;
      readonly bytesInAll: number;
    };

export type Report = (progress: Progress) => void;
