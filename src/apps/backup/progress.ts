// Progress of copying, restoring or verifying.

export type Progress =
  /** Processing of a table has started. */
  | { readonly kind: "table"; readonly table: string; readonly index: number; readonly count: number }
  /** Number of rows of the table that have been processed. */
  | { readonly kind: "rows"; readonly table: string; readonly rows: number }
  /**
   * Number and total size in bytes: of the files processed so far, and of all files. The size of all files is 0 if
   * unknown.
   */
  | {
      readonly kind: "files";
      readonly files: number;
      readonly filesInAll: number;
      readonly bytes: number;
      readonly bytesInAll: number;
    };

export type Report = (progress: Progress) => void;
