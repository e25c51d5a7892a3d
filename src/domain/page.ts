// Cursor pages, as every list route of the training interface answers them.

export interface PageRequest {
  /** Id of the last item of the page before; null for the first page. */
  readonly after: string | null;
  /** 1 to 100. */
  readonly limit: number;
  readonly order: "asc" | "desc";
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}
