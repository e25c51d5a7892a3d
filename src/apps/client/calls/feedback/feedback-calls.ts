// Calls about feedback: judgements by people and programs on calls, objects and answers.
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

/** The fields that a query asked for, by name; a whole record if it named none. */
type FeedbackRow = FeedbackRecord | Readonly<Record<string, unknown>>;

/** `hone.feedback` */
export class FeedbackCalls extends CallGroup {
  /** Adds a record. Without an id, the client generates one, so retries add nothing. */
  create(record: FeedbackCreateReq, options?: RequestOptions): Promise<Feedback> {
    const body = this.#withId(record);
    return this.calls.call("POST /feedback/create", { body }, { isRepeatable: true, ...options });
  }

  /** Adds all records in order, or none. */
  async createBatch(
    records: readonly FeedbackCreateReq[],
    options?: RequestOptions,
  ): Promise<readonly Feedback[]> {
    const body = { batch: records.map((record) => this.#withId(record)) };
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /feedback/batch/create", { body }, sent)).res;
  }

  /** Replaces the content of a record; the old content is kept. */
  replace(body: FeedbackReplaceReq, options?: RequestOptions): Promise<Feedback> {
    return this.calls.call("POST /feedback/replace", { body }, options);
  }

  /** Returns the rows of a query from its offset to the end, in pages of its limit. */
  query(body: FeedbackQueryReq, options?: RequestOptions): Pages<FeedbackRow> {
    return new Pages((after) => this.#rows(body, after, options));
  }

  /** Counts the records that match a query; without one, all of the project. */
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
   * Streams all matching records as a file: JSON Lines or CSV. Resume an interrupted export with `after`, the id of
   * its last record.
   */
  export(body: FeedbackExportReq, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.bytes("POST /feedback/export", { body }, sent);
  }

  /** Returns counts per type, and statistics of payload values: counts, means, percentiles, histograms. */
  stats(body: FeedbackStatsReq, options?: RequestOptions): Promise<FeedbackStats> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.call("POST /feedback/stats", { body }, sent);
  }

  /**
   * Returns the records on a reference, oldest first. A call is identified by its project and id: references to it of
   * any scheme match, and so do references to its parts, such as one of its choices. For a part of a call, only
   * records on that part match.
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

  /** Removes a record permanently; does nothing if it does not exist. */
  async delete(projectId: string, id: string, options?: RequestOptions): Promise<void> {
    const body = { project_id: projectId, query: equals("id", id) };
    await this.calls.call("POST /feedback/purge", { body }, { isRepeatable: true, ...options });
  }

  /** Lists a record's previous contents, oldest first. */
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

  /** @param after rows to skip; default: the query's offset */
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

/** True if the query names no fields, so that rows are whole records. */
function isWhole(row: FeedbackRow): row is FeedbackRecord {
  return "vendor_ref" in row && "payload" in row;
}

interface Call {
  /** Percent-encoded, as the server stores it. */
  readonly id: string;
  /** Path to a part of the call, such as `/attr/choices/index/0`; empty for the whole call. */
  readonly part: string;
}

const callPattern = /^[^:/]+:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)(\/.+?)?\/?$/s;

/** Parses a reference to a call of the project; null for any other reference. */
function readCall(projectId: string, reference: string): Call | null {
  const [, project, id, part = ""] = callPattern.exec(reference) ?? [];
  if (project !== projectId || id === undefined) return null;
  try {
    return { id: encodedId(decodeURIComponent(id)), part };
  } catch {
    // Invalid percent-encoding or a lone surrogate: only the literal reference can match.
    return null;
  }
}

/** Percent-encodes all but letters, digits and `_.-~`, as the server does. */
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

/** Returns the query expression that a field equals a text. */
function equals(field: string, text: string): { readonly $expr: object } {
  return { $expr: { $eq: [{ $getField: field }, { $literal: text }] } };
}
