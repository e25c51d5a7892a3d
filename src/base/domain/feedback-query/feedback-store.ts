// Where feedback is kept: the contract of every store.
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

/** Who wrote records, and when. */
export type FeedbackAuthor = Pick<FeedbackRecord, "createdAt" | "vendorUserId">;

export interface FeedbackStore {
  /**
   * Writes all or nothing, in one transaction, and returns the records in order. A record whose id exists in its project
   * with the same content hash is returned as stored and not written again, and so is what it was created as, though it
   * was replaced since: a client that tries again late is answered as the first time. With another hash the whole call
   * throws `conflict` and names every such index in its faults (location `<index>, id`). The same id twice in one call
   * follows the same rule.
   */
  create(records: readonly FeedbackRecord[]): Promise<readonly FeedbackRecord[]>;
  /** How the batches are packed that it takes. */
  readonly packForm: PackForm;
  /**
   * Writes the records of a batch in order, in one transaction, where no id of them is taken and none stands twice; nothing
   * else.
   *
   * @returns whether they were written
   */
  createBatch(batch: FeedbackBatch, author: FeedbackAuthor): Promise<boolean>;
  find(projectId: string, id: string): Promise<FeedbackRecord | null>;
  /**
   * Those of these ids that there are, in the order in which they were stored: at most so many bytes of them, as a page is
   * bounded.
   *
   * @param ids up to a thousand
   */
  findMany(
    projectId: string,
    ids: readonly string[],
    bounds?: { readonly bytesMax?: number },
  ): Promise<readonly FeedbackRecord[]>;
  /**
   * Replaces the content, keeps `id` and `createdAt`, and puts what was replaced in the history; atomic.
   * Null, and nothing written, when the project has no such record.
   */
  replace(
    projectId: string,
    id: string,
    content: Omit<FeedbackRecord, "id" | "createdAt">,
    at: Date,
  ): Promise<FeedbackRecord | null>;
  /**
   * The records that a query is about, sorted, a slice of them; bounded in bytes too, as a page is.
   *
   * @throws ServiceError `too_slow` when it takes longer than its turn has, `overloaded` when its turn does not come
   */
  query(query: FeedbackQuery, turn: QueryTurn): Promise<FeedbackResult>;
  /** A page of the records that a condition holds for, in the order of a scan. @throws as `query` */
  scan(scan: FeedbackScan, turn: QueryTurn): Promise<FeedbackScanPage>;
  /** The number of a record for `scan` to go on behind, in the order of storing; null where the project has no such record. */
  placeOf(projectId: string, id: string): Promise<number | null>;
  /** How many records of each type a condition holds for. @throws as `query` */
  countTypes(question: TypeQuestion, turn: QueryTurn): Promise<TypeCounts>;
  /** Removes records with their histories, at once; ids that the project does not have are passed over. */
  delete(projectId: string, ids: readonly string[]): Promise<void>;
  /** In the order they were replaced. */
  history(projectId: string, id: string, page: PageRequest): Promise<Page<FeedbackRevision>>;
}
