// Contract that every store of feedback implements.
import type { FeedbackRecord, FeedbackRevision } from "../feedback.ts";
import type { Page, PageRequest } from "../page.ts";
import type { FeedbackBatch, PackForm } from "./feedback-batch.ts";
import type {
  FeedbackQuery,
  FeedbackResult,
  FeedbackScan,
  FeedbackScanPage,
  QueryTurn,
  TypeCounts,
  TypeQuestion,
} from "./feedback-query.ts";

/** Author of records, and the time at which they are written. */
export type FeedbackAuthor = Pick<FeedbackRecord, "createdAt" | "vendorUserId">;

export interface FeedbackStore {
  /**
   * Writes all records or none, in one transaction, and returns them in order.
   *
   * * If the project has a record with the same id and the same content hash, the call is a retry: the record is not
   *   written again, and the stored record is returned. The hash of the record's first content also counts, so a late
   *   retry succeeds after a replacement.
   * * If the project has a record with the same id and another hash, the call fails with `conflict`, with a fault for
   *   each such record (location `<index>, id`).
   * * The same rules apply to an id that occurs twice in one call.
   */
  create(records: readonly FeedbackRecord[]): Promise<readonly FeedbackRecord[]>;
  /** Format of the packed batches that the store accepts. */
  readonly packForm: PackForm;
  /**
   * Writes the records of a batch in order, in one transaction. Writes nothing if an id exists already or occurs
   * twice.
   *
   * @returns true if the records were written
   */
  createBatch(batch: FeedbackBatch, author: FeedbackAuthor): Promise<boolean>;
  find(projectId: string, id: string): Promise<FeedbackRecord | null>;
  /**
   * Returns the records with these ids that exist, in storage order. Their total size is limited like that of a page.
   *
   * @param ids up to a thousand
   */
  findMany(
    projectId: string,
    ids: readonly string[],
    bounds?: { readonly bytesMax?: number },
  ): Promise<readonly FeedbackRecord[]>;
  /**
   * Atomically replaces the content of a record, keeps its `id` and `createdAt`, and adds the old content to its
   * history. Returns null and writes nothing if the project has no such record.
   */
  replace(
    projectId: string,
    id: string,
    content: Omit<FeedbackRecord, "id" | "createdAt">,
    at: Date,
  ): Promise<FeedbackRecord | null>;
  /**
   * Returns the selected slice of the matching records, in the requested order. Its size in bytes is limited like that
   * of a page.
   *
   * @throws ServiceError `too_slow` if the query does not finish in its time, `overloaded` if it cannot start in its
   * time
   */
  query(query: FeedbackQuery, turn: QueryTurn): Promise<FeedbackResult>;
  /**
   * Returns a page of matching records in the order of the scan.
   *
   * @throws as `query`
   */
  scan(scan: FeedbackScan, turn: QueryTurn): Promise<FeedbackScanPage>;
  /**
   * Returns the number of a record, from which `scan` can continue in storage order; null if the project has no such
   * record.
   */
  placeOf(projectId: string, id: string): Promise<number | null>;
  /**
   * Counts matching records by type.
   *
   * @throws as `query`
   */
  countTypes(question: TypeQuestion, turn: QueryTurn): Promise<TypeCounts>;
  /** Deletes the records with these ids, and their histories, in one transaction. Unknown ids are ignored. */
  delete(projectId: string, ids: readonly string[]): Promise<void>;
  /** Returns the earlier revisions of a record, in the order in which they were replaced. */
  history(projectId: string, id: string, page: PageRequest): Promise<Page<FeedbackRevision>>;
}
