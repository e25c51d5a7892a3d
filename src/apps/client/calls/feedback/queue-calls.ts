// Annotation queues: what people are to judge, and what annotators do with it.
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
/** A queue of a project. */
export interface QueueName {
  readonly project_id: string;
  readonly queue_id: string;
}

export interface QueueItemName extends QueueName {
  readonly item_id: string;
}

/** A body without the fields of the name. */
type Rest<R extends Route> = Omit<BodyOf<R>, keyof QueueName>;

const path = "/annotation_queues/{queue_id}";
const item = "/annotation_queues/{queue_id}/items/{item_id}";
const isRepeatable = true;
const limit = 100;

/** `hone.queues` */
export class QueueCalls extends CallGroup {
  /** @returns its id */
  async create(queue: AnnotationQueueCreateReq, options?: RequestOptions): Promise<string> {
    return (await this.calls.call("POST /annotation_queues", { body: queue }, options)).id;
  }

  /** Those of a project, by a part of their name. */
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
      // Each line is a queue, as the document says in words only.
      const data = lines.map((line) => JSON.parse(line) as AnnotationQueue);
      return { data, last_id: String(offset + data.length), has_more: data.length > 0 };
    });
  }

  async get(name: QueueName, options?: RequestOptions): Promise<AnnotationQueue> {
    return (await this.calls.call(`GET ${path}`, queried(name), options)).queue;
  }

  /** What is absent stays as it is. */
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

  /** Those that it has already are not added again. */
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

  /** How far its annotators agree, by question. */
  async agreement(name: QueueName, options?: RequestOptions): Promise<readonly QuestionAgreement[]> {
    return (await this.calls.call(`GET ${path}/agreement`, queried(name), options)).agreement;
  }

  /** The next item for an annotator, or the one that the annotator holds. A repeated claim returns the item held already. */
  claim(
    name: QueueName,
    claim: Rest<`POST ${typeof path}/claim`> = {},
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof path}/claim`>> {
    return this.calls.call(`POST ${path}/claim`, sent(name, claim), { isRepeatable, ...options });
  }

  /** Says how far an annotator is: `in_progress`, which holds the item anew, `completed`, or `skipped`. */
  async progress(
    name: QueueItemName,
    progress: Rest<`POST ${typeof item}/progress`>,
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = sent(name, progress);
    return (await this.calls.call(`POST ${item}/progress`, input, { isRepeatable, ...options })).item;
  }

  /** Stores the answers as feedback, in place of those before, and completes the item. */
  answer(
    name: QueueItemName,
    answer: Rest<`POST ${typeof item}/answers`>,
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof item}/answers`>> {
    return this.calls.call(`POST ${item}/answers`, sent(name, answer), { isRepeatable, ...options });
  }

  /** Takes back what an annotator said, and holds the item for the annotator. */
  reopen(
    name: QueueItemName,
    reopening: Rest<`POST ${typeof item}/reopen`> = {},
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof item}/reopen`>> {
    return this.calls.call(`POST ${item}/reopen`, sent(name, reopening), { isRepeatable, ...options });
  }

  /** Gives back an item that an annotator holds. */
  async release(
    name: QueueItemName,
    annotator: Rest<`POST ${typeof item}/release`> = {},
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = sent(name, annotator);
    return (await this.calls.call(`POST ${item}/release`, input, { isRepeatable, ...options })).item;
  }
}

/** A call about a queue or an item, named by the path and the body's project. */
function sent<Name extends QueueName, Body>({ project_id, ...path }: Name, body: Body) {
  return { path, body: { project_id, ...body } };
}

/** The same with the project in the query. */
function queried({ project_id, queue_id }: QueueName) {
  return { path: { queue_id }, query: { project_id } };
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}
