// Calls for feedback: judgements on calls, objects and answers, by people and programs.
import type {
  Feedback,
  FeedbackCreateReq,
  FeedbackExportReq,
  FeedbackQueryReq,
  FeedbackRecord,
  FeedbackReplaceReq,
  FeedbackRevision,
  FeedbackStats,
  FeedbackStatsReq,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { Pages } from "../../pages.ts";
import { CallGroup } from "../call-group.ts";

/** A row of a query's result: the fields that the query selected, by name, or a whole record if it selected none. */
type FeedbackRow = FeedbackRecord | Readonly<Record<string, unknown>>;

/** The call group `hone.feedback`. */
export class FeedbackCalls extends CallGroup {
  /** Creates a record. If it has no id, the client generates one, so that a retry does not create a second record. */
  create(record: FeedbackCreateReq, options?: RequestOptions): Promise<Feedback> {
    const body = this.#withId(record);
    return this.calls.call("POST /feedback/create", { body }, { isRepeatable: true, ...options });
  }

  /** Creates all records in order, or none if one is refused. */
  async createBatch(
    records: readonly FeedbackCreateReq[],
    options?: RequestOptions,
  ): Promise<readonly Feedback[]> {
    const body = { batch: records.map((record) => this.#withId(record)) };
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /feedback/batch/create", { body }, sent)).res;
  }

  /** Replaces a record's content; the old content is kept as history. */
  replace(body: FeedbackReplaceReq, options?: RequestOptions): Promise<Feedback> {
    return this.calls.call("POST /feedback/replace", { body }, options);
  }

  /** Returns all rows of a query, beginning at its offset. The query's limit is the number of rows per page. */
  query(body: FeedbackQueryReq, options?: RequestOptions): Pages<FeedbackRow> {
    return new Pages((after) => this.#rows(body, after, options));
  }

  /** Returns the number of records that match a query; without a query, of all records in the project. */
  async count(
    projectId: string,
    query?: FeedbackQueryReq["query"],
    options?: RequestOptions,
  ): Promise<number> {
    const body = { project_id: projectId, query, limit: 0 };
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /feedback/query", { body }, sent)).total_count;
  }

  /**
   * Streams all matching records as JSON Lines or CSV. To resume an interrupted export, set `after` to the id of the
   * last record received.
   */
  export(body: FeedbackExportReq, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.bytes("POST /feedback/export", { body }, sent);
  }

  /**
   * Returns the number of records per type, and statistics of payload values: counts, means, percentiles and
   * histograms.
   */
  stats(body: FeedbackStatsReq, options?: RequestOptions): Promise<FeedbackStats> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.call("POST /feedback/stats", { body }, sent);
  }

  /**
   * Lists the records about a reference, oldest first. For a call, also lists the records about its parts, such as one
   * of its choices, and records that refer to the call with another URI scheme. For a part of a call, lists only the
   * records about that part.
   */
  on(projectId: string, reference: string, options?: RequestOptions): Pages<FeedbackRecord> {
    const call = readCall(projectId, reference);
    const body = {
      project_id: projectId,
      query: call === null ? equals("weave_ref", reference) : equals("call_id", call.id),
      sort_by: [{ field: "created_at", direction: "asc" as const }],
    };
    return new Pages(async (after) => {
      const page = await this.#rows(body, after, options);
      return { ...page, data: page.data.filter(isWhole).filter((record) => isOn(record, call)) };
    });
  }

  /** Deletes a record permanently. Does nothing if the record does not exist. */
  async delete(projectId: string, id: string, options?: RequestOptions): Promise<void> {
    const body = { project_id: projectId, query: equals("id", id) };
    await this.calls.call("POST /feedback/purge", { body }, { isRepeatable: true, ...options });
  }

  /** Lists the previous contents of a record, oldest first. */
  history(
    record: { readonly project_id: string; readonly feedback_id: string },
    options?: RequestOptions,
  ): Pages<FeedbackRevision> {
    return new Pages(async (after) => {
      const body = after === undefined ? record : { ...record, after };
      const sent = { isRepeatable: true, ...options };
      const page = await this.calls.call("POST /feedback/history", { body }, sent);
      const last = page.result.at(-1)?.revision_id ?? "";
      return { data: page.result, last_id: last, has_more: page.has_more };
    });
  }

  /**
   * Requests a page of a query's rows.
   *
   * @param after number of rows to skip; default: the query's offset
   */
  async #rows(body: FeedbackQueryReq, after = String(body.offset ?? 0), options: RequestOptions = {}) {
    const offset = Number(after);
    const sent = { isRepeatable: true, ...options };
    const page = await this.calls.call("POST /feedback/query", { body: { ...body, offset } }, sent);
    const end = offset + page.result.length;
    const hasMore = page.result.length > 0 && end < page.total_count;
    return { data: page.result, last_id: String(end), has_more: hasMore };
  }

  #withId(record: FeedbackCreateReq): FeedbackCreateReq {
    return { ...record, id: record.id ?? this.calls.platform.newId() };
  }
}

/** True if the row is a whole record, because the query selected no fields. */
function isWhole(row: FeedbackRow): row is FeedbackRecord {
  return "vendor_ref" in row && "payload" in row;
}

interface Call {
  /** Id of the call, percent-encoded as the server stores it. */
  readonly id: string;
  /** Path of a part of the call, such as `/attr/choices/index/0`; empty for the whole call. */
  readonly part: string;
}

const callPattern = /^[^:/]+:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)(\/.+?)?\/?$/s;

/** Parses a reference to a call in the project; null for any other reference. */
function readCall(projectId: string, reference: string): Call | null {
  const [, project, id, part = ""] = callPattern.exec(reference) ?? [];
  if (project !== projectId || id === undefined) return null;
  try {
    return { id: encodedId(decodeURIComponent(id)), part };
  } catch {
    // The id has invalid percent-encoding or a lone surrogate, so only the literal reference can match.
    return null;
  }
}

/** Percent-encodes all characters except letters, digits and `_.-~`, as the server does. */
function encodedId(id: string): string {
  return encodeURIComponent(id).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function isOn(record: FeedbackRecord, call: Call | null): boolean {
  if (call === null || call.part === "") return true;
  return readCall(record.project_id, record.vendor_ref)?.part === call.part;
}

/** Returns a query that matches records whose field equals a text. */
function equals(field: string, text: string): { readonly $expr: object } {
  return { $expr: { $eq: [{ $getField: field }, { $literal: text }] } };
}
