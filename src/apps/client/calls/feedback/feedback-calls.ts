// What people and programs say of calls, objects and answers.
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

/** The fields that a query asked for, by their names; a whole record unless it named some. */
type FeedbackRow = FeedbackRecord | Readonly<Record<string, unknown>>;

/** `hone.feedback` */
export class FeedbackCalls extends CallGroup {
  /** Adds a record, once however often it is sent: it has an id of this side unless one is given. */
  create(record: FeedbackCreateReq, options?: RequestOptions): Promise<Feedback> {
    const body = this.#withId(record);
    return this.calls.call("POST /feedback/create", { body }, { isRepeatable: true, ...options });
  }

  /** All records, or none, in their order. */
  async createBatch(
    records: readonly FeedbackCreateReq[],
    options?: RequestOptions,
  ): Promise<readonly Feedback[]> {
    const body = { batch: records.map((record) => this.#withId(record)) };
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /feedback/batch/create", { body }, sent)).res;
  }

  /** Has a record say something else; what it said is kept. */
  replace(body: FeedbackReplaceReq, options?: RequestOptions): Promise<Feedback> {
    return this.calls.call("POST /feedback/replace", { body }, options);
  }

  /** The rows of a query, in pages of at most its limit, from its offset on to the end. */
  query(body: FeedbackQueryReq, options?: RequestOptions): Pages<FeedbackRow> {
    return new Pages((after) => this.#rows(body, after, options));
  }

  /** How many records a query is about; all of the project without one. */
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
   * All records that a query is about, as a file, as it comes: a JSON object a line, or CSV. One that broke off goes on
   * behind the last record of it, by `after`.
   */
  export(body: FeedbackExportReq, options?: RequestOptions): Promise<AsyncGenerator<Uint8Array>> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.bytes("POST /feedback/export", { body }, sent);
  }

  /** How many there are of each type, and what their payloads hold: counts, means, percentiles, histograms. */
  stats(body: FeedbackStatsReq, options?: RequestOptions): Promise<FeedbackStats> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.call("POST /feedback/stats", { body }, sent);
  }

  /**
   * Records on a reference, oldest first. A call is found by its project and id: references to it of any scheme match, and
   * so do references to its parts, such as one of its choices. For a part of a call, only records on that part match.
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

  /** Removes a record for good; where there is none, nothing happens. */
  async delete(projectId: string, id: string, options?: RequestOptions): Promise<void> {
    const body = { project_id: projectId, query: equals("id", id) };
    await this.calls.call("POST /feedback/purge", { body }, { isRepeatable: true, ...options });
  }

  /** What a record said before, the oldest first. */
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

  /** @param after how many rows are passed over; those that the query passes over unless given */
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

/** A query that names no fields answers with whole records. */
function isWhole(row: FeedbackRow): row is FeedbackRecord {
  return "vendor_ref" in row && "payload" in row;
}

interface Call {
  /** As the server stores it: percent-encoded. */
  readonly id: string;
  /** Steps to a part of the call, such as `/attr/choices/index/0`; empty for the whole. */
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
    // A percent sign that encodes nothing, or half of a surrogate pair: only the literal reference can match.
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

/** A field and the text that it is to be, in the language of queries. */
function equals(field: string, text: string): { readonly $expr: object } {
  return { $expr: { $eq: [{ $getField: field }, { $literal: text }] } };
}
