// Calls for annotation queues, and for annotators who work on their items.
import type {
  AnnotationItem,
  AnnotationQueue,
  AnnotationQueueCreateReq,
  AnnotationQueueStats,
  QuestionAgreement,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { Pages } from "../../pages.ts";
import { CallGroup } from "../call-group.ts";
import type { AnswerOf, BodyOf, Route } from "../calls.ts";
/** Identifies an annotation queue. */
export interface QueueName {
  readonly project_id: string;
  readonly queue_id: string;
}

export interface QueueItemName extends QueueName {
  readonly item_id: string;
}

/** A route's body without the fields that identify the queue. */
type Rest<R extends Route> = Omit<BodyOf<R>, keyof QueueName>;

const path = "/annotation_queues/{queue_id}";
const item = "/annotation_queues/{queue_id}/items/{item_id}";
const isRepeatable = true;
const limit = 100;

/** The call group `hone.queues`. */
export class QueueCalls extends CallGroup {
  /**
   * Creates a queue.
   *
   * @returns its id
   */
  async create(queue: AnnotationQueueCreateReq, options?: RequestOptions): Promise<string> {
    return (await this.calls.call("POST /annotation_queues", { body: queue }, options)).id;
  }

  /** Lists a project's queues, optionally only those whose name contains a text. */
  list(
    query: { readonly project_id: string; readonly name?: string },
    options?: RequestOptions,
  ): Pages<AnnotationQueue> {
    return new Pages(async (after = "0") => {
      const offset = Number(after);
      const body = { ...query, offset, limit };
      const sent = { isRepeatable, ...options };
      const text = await textOf(await this.calls.bytes("POST /annotation_queues/query", { body }, sent));
      const lines = text.split("\n").filter((line) => line !== "");
      // Safe cast: each line is a queue; the API document says so only in prose, so there is no generated type.
      const data = lines.map((line) => JSON.parse(line) as AnnotationQueue);
      return { data, last_id: String(offset + data.length), has_more: data.length > 0 };
    });
  }

  async get(name: QueueName, options?: RequestOptions): Promise<AnnotationQueue> {
    return (await this.calls.call(`GET ${path}`, queried(name), options)).queue;
  }

  /** Changes a queue's given fields; omitted fields keep their values. */
  async update(
    name: QueueName,
    change: Rest<`PUT ${typeof path}`>,
    options?: RequestOptions,
  ): Promise<AnnotationQueue> {
    return (await this.calls.call(`PUT ${path}`, sent(name, change), options)).queue;
  }

  async delete(name: QueueName, options?: RequestOptions): Promise<AnnotationQueue> {
    return (await this.calls.call(`DELETE ${path}`, queried(name), options)).queue;
  }

  /** Adds items to a queue; items that are already in the queue are not added again. */
  add(
    name: QueueName,
    items: Rest<`POST ${typeof path}/items`>,
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof path}/items`>> {
    return this.calls.call(`POST ${path}/items`, sent(name, items), { isRepeatable, ...options });
  }

  items(
    name: QueueName,
    query: Omit<Rest<`POST ${typeof path}/items/query`>, "offset" | "limit"> = {},
    options?: RequestOptions,
  ): Pages<AnnotationItem> {
    return new Pages(async (after = "0") => {
      const offset = Number(after);
      const input = sent(name, { ...query, offset, limit });
      const answer = await this.calls.call(`POST ${path}/items/query`, input, { isRepeatable, ...options });
      const { items: data } = answer;
      return { data, last_id: String(offset + data.length), has_more: data.length > 0 };
    });
  }

  async stats(
    query: BodyOf<"POST /annotation_queues/stats">,
    options?: RequestOptions,
  ): Promise<readonly AnnotationQueueStats[]> {
    const repeated = { isRepeatable, ...options };
    return (await this.calls.call("POST /annotation_queues/stats", { body: query }, repeated)).stats;
  }

  /** Returns the inter-annotator agreement for each question. */
  async agreement(name: QueueName, options?: RequestOptions): Promise<readonly QuestionAgreement[]> {
    return (await this.calls.call(`GET ${path}/agreement`, queried(name), options)).agreement;
  }

  /** Leases the next item to an annotator. Idempotent while the lease lasts: it returns the same item. */
  claim(
    name: QueueName,
    claim: Rest<`POST ${typeof path}/claim`> = {},
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof path}/claim`>> {
    return this.calls.call(`POST ${path}/claim`, sent(name, claim), { isRepeatable, ...options });
  }

  /** Sets an annotator's state on an item: `in_progress`, which renews the lease, `completed` or `skipped`. */
  async progress(
    name: QueueItemName,
    progress: Rest<`POST ${typeof item}/progress`>,
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = sent(name, progress);
    return (await this.calls.call(`POST ${item}/progress`, input, { isRepeatable, ...options })).item;
  }

  /** Stores an annotator's answers as feedback, replacing earlier answers, and completes the item. */
  answer(
    name: QueueItemName,
    answer: Rest<`POST ${typeof item}/answers`>,
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof item}/answers`>> {
    return this.calls.call(`POST ${item}/answers`, sent(name, answer), { isRepeatable, ...options });
  }

  /** Removes an annotator's answers to an item, and leases the item to the annotator again. */
  reopen(
    name: QueueItemName,
    reopening: Rest<`POST ${typeof item}/reopen`> = {},
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof item}/reopen`>> {
    return this.calls.call(`POST ${item}/reopen`, sent(name, reopening), { isRepeatable, ...options });
  }

  /** Releases the item that is leased to an annotator. */
  async release(
    name: QueueItemName,
    annotator: Rest<`POST ${typeof item}/release`> = {},
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = sent(name, annotator);
    return (await this.calls.call(`POST ${item}/release`, input, { isRepeatable, ...options })).item;
  }
}

/** Returns the input for a route of a queue or an item, with the project in the body. */
function sent<Name extends QueueName, Body>({ project_id, ...path }: Name, body: Body) {
  return { path, body: { project_id, ...body } };
}

/** Returns the input for a route of a queue, with the project in the query. */
function queried({ project_id, queue_id }: QueueName) {
  return { path: { queue_id }, query: { project_id } };
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}
