// Progress of a copy.

export type Progress =
  /** A table was started. */
  | { readonly kind: "table"; readonly table: string; readonly index: number; readonly count: number }
  /** Number of rows done in it. */
  | { readonly kind: "rows"; readonly table: string; readonly rows: number }
  /** Files and bytes done, and their totals as far as known. */
  | {
      readonly kind: "files";
      readonly files: number;
      readonly filesInAll: number;
      readonly bytes: number;
      readonly bytesInAll: number;
    };

export type Report = (progress: Progress) => void;
