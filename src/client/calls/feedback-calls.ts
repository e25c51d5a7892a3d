// What people and programs say of calls, objects and answers.
import type {
  Feedback,
  FeedbackCreateReq,
  FeedbackRecord,
  FeedbackReplaceReq,
  FeedbackRevision,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";

const scheme = "basic";

/** `hone.feedback` */
export class FeedbackCalls extends CallGroup {
  /** Adds a record, once however often it is sent: it has an id of this side unless one is given. */
  create(record: FeedbackCreateReq, options?: RequestOptions): Promise<Feedback> {
    const body = this.#withId(record);
    return this.calls.value("POST /feedback/create", { body }, { scheme, isRepeatable: true, ...options });
  }

  /** All records, or none, in their order. */
  async createBatch(
    records: readonly FeedbackCreateReq[],
    options?: RequestOptions,
  ): Promise<readonly Feedback[]> {
    const body = { batch: records.map((record) => this.#withId(record)) };
    const sent = { scheme, isRepeatable: true, ...options } as const;
    return (await this.calls.value("POST /feedback/batch/create", { body }, sent)).res;
  }

  /** Has a record say something else; what it said is kept. */
  replace(body: FeedbackReplaceReq, options?: RequestOptions): Promise<Feedback> {
    return this.calls.value("POST /feedback/replace", { body }, { scheme, ...options });
  }

  /** Those on a reference, the oldest first. */
  on(projectId: string, reference: string, options?: RequestOptions): Pages<FeedbackRecord> {
    const query = equals("weave_ref", reference);
    return new Pages(async (after = "0") => {
      const offset = Number(after);
      const body = { project_id: projectId, query, offset };
      const sent = { scheme, isRepeatable: true, ...options } as const;
      const { result, total_count: count } = await this.calls.value("POST /feedback/query", { body }, sent);
      const end = offset + result.length;
      return { data: result, last_id: String(end), has_more: result.length > 0 && end < count };
    });
  }

  /** Removes a record for good; where there is none, nothing happens. */
  async delete(projectId: string, id: string, options?: RequestOptions): Promise<void> {
    const body = { project_id: projectId, query: equals("id", id) };
    await this.calls.value("POST /feedback/purge", { body }, { scheme, isRepeatable: true, ...options });
  }

  /** What a record said before, the oldest first. */
  history(
    record: { readonly project_id: string; readonly feedback_id: string },
    options?: RequestOptions,
  ): Pages<FeedbackRevision> {
    return new Pages(async (after) => {
      const body = after === undefined ? record : { ...record, after };
      const sent = { scheme, isRepeatable: true, ...options } as const;
      const page = await this.calls.value("POST /feedback/history", { body }, sent);
      const last = page.result.at(-1)?.revision_id ?? "";
      return { data: page.result, last_id: last, has_more: page.has_more };
    });
  }

  #withId(record: FeedbackCreateReq): FeedbackCreateReq {
    return { ...record, id: record.id ?? this.calls.newId() };
  }
}

/** A field and the text that it is to be, in the language of queries. */
function equals(field: string, text: string): { readonly $expr: object } {
  return { $expr: { $eq: [{ $getField: field }, { $literal: text }] } };
}
