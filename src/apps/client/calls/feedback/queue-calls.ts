// Annotation queues: what people are to judge, and what annotators do with it.
import type {
  AnnotationItem,
  AnnotationQueue,
  AnnotationQueueCreateReq,
  AnnotationQueueStats,
  AnnotationQueueUpdateReq,
  QuestionAgreement,
  Operations,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { Pages } from "../../pages.ts";
import { CallGroup } from "../call-group.ts";

const scheme = "basic";

/** A queue of a project. */
export interface QueueName {
  readonly project_id: string;
  readonly queue_id: string;
}

export interface QueueItemName extends QueueName {
  readonly item_id: string;
}

/** What a body has beside the project. */
type Rest<Route extends keyof Operations> = Operations[Route] extends { readonly body: infer Body }
  ? Omit<Body, "project_id">
  : never;

type Answer<Route extends keyof Operations> = Operations[Route] extends { readonly answer: infer Value }
  ? Value
  : never;

const path = "/annotation_queues/{queue_id}";
const item = `${path}/items/{item_id}` as const;

/** `hone.queues` */
export class QueueCalls extends CallGroup {
  /** @returns its id */
  async create(queue: AnnotationQueueCreateReq, options?: RequestOptions): Promise<string> {
    return (await this.calls.value("POST /annotation_queues", { body: queue }, { scheme, ...options })).id;
  }

  /** Those of a project, by a part of their name. */
  list(
    query: { readonly project_id: string; readonly name?: string },
    options?: RequestOptions,
  ): Pages<AnnotationQueue> {
    return new Pages(async (after = "0") => {
      const offset = Number(after);
      const limit = 100;
      const body = { ...query, offset, limit };
      const sent = { scheme, isRepeatable: true, ...options } as const;
      const text = await textOf(await this.calls.bytes("POST /annotation_queues/query", { body }, sent));
      const lines = text.split("\n").filter((line) => line !== "");
      // Each line is a queue, as the document says in words alone.
      const data = lines.map((line) => JSON.parse(line) as AnnotationQueue);
      return { data, last_id: String(offset + data.length), has_more: data.length > 0 };
    });
  }

  async get({ project_id, queue_id }: QueueName, options?: RequestOptions): Promise<AnnotationQueue> {
    const input = { path: { queue_id }, query: { project_id } };
    return (await this.calls.value(`GET ${path}`, input, { scheme, ...options })).queue;
  }

  /** What is absent stays as it is. */
  async update(
    { queue_id, ...name }: QueueName,
    change: Omit<AnnotationQueueUpdateReq, "project_id">,
    options?: RequestOptions,
  ): Promise<AnnotationQueue> {
    const input = { path: { queue_id }, body: { ...name, ...change } };
    return (await this.calls.value(`PUT ${path}`, input, { scheme, ...options })).queue;
  }

  async delete({ project_id, queue_id }: QueueName, options?: RequestOptions): Promise<AnnotationQueue> {
    const input = { path: { queue_id }, query: { project_id } };
    return (await this.calls.value(`DELETE ${path}`, input, { scheme, ...options })).queue;
  }

  /** Those that it has already are not added again. */
  add(
    { queue_id, ...name }: QueueName,
    items: Rest<"POST /annotation_queues/{queue_id}/items">,
    options?: RequestOptions,
  ): Promise<Answer<"POST /annotation_queues/{queue_id}/items">> {
    const input = { path: { queue_id }, body: { ...name, ...items } };
    return this.calls.value(`POST ${path}/items`, input, { scheme, isRepeatable: true, ...options });
  }

  items(
    { queue_id, ...name }: QueueName,
    query: Omit<Rest<"POST /annotation_queues/{queue_id}/items/query">, "offset" | "limit"> = {},
    options?: RequestOptions,
  ): Pages<AnnotationItem> {
    return new Pages(async (after = "0") => {
      const offset = Number(after);
      const body = { ...name, ...query, offset, limit: 100 };
      const sent = { scheme, isRepeatable: true, ...options } as const;
      const { items: data } = await this.calls.value(
        `POST ${path}/items/query`,
        { path: { queue_id }, body },
        sent,
      );
      return { data, last_id: String(offset + data.length), has_more: data.length > 0 };
    });
  }

  async stats(
    query: { readonly project_id: string; readonly queue_ids: readonly string[] },
    options?: RequestOptions,
  ): Promise<readonly AnnotationQueueStats[]> {
    const sent = { scheme, isRepeatable: true, ...options } as const;
    return (await this.calls.value("POST /annotation_queues/stats", { body: query }, sent)).stats;
  }

  /** How far its annotators agree, by question. */
  async agreement(
    { project_id, queue_id }: QueueName,
    options?: RequestOptions,
  ): Promise<readonly QuestionAgreement[]> {
    const input = { path: { queue_id }, query: { project_id } };
    return (await this.calls.value(`GET ${path}/agreement`, input, { scheme, ...options })).agreement;
  }

  /** The next item for an annotator, or the one that the annotator holds. */
  claim(
    { queue_id, ...name }: QueueName,
    claim: Rest<"POST /annotation_queues/{queue_id}/claim"> = {},
    options?: RequestOptions,
  ): Promise<Answer<"POST /annotation_queues/{queue_id}/claim">> {
    const input = { path: { queue_id }, body: { ...name, ...claim } };
    // Who claims twice is given what is held already.
    return this.calls.value(`POST ${path}/claim`, input, { scheme, isRepeatable: true, ...options });
  }

  /** Says how far an annotator is: `in_progress`, which holds the item anew, `completed`, or `skipped`. */
  async progress(
    { queue_id, item_id, ...name }: QueueItemName,
    progress: Rest<"POST /annotation_queues/{queue_id}/items/{item_id}/progress">,
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = { path: { queue_id, item_id }, body: { ...name, ...progress } };
    const sent = { scheme, isRepeatable: true, ...options } as const;
    return (await this.calls.value(`POST ${item}/progress`, input, sent)).item;
  }

  /** Stores the answers as feedback, in place of those before, and completes the item. */
  answer(
    { queue_id, item_id, ...name }: QueueItemName,
    answer: Rest<"POST /annotation_queues/{queue_id}/items/{item_id}/answers">,
    options?: RequestOptions,
  ): Promise<Answer<"POST /annotation_queues/{queue_id}/items/{item_id}/answers">> {
    const input = { path: { queue_id, item_id }, body: { ...name, ...answer } };
    return this.calls.value(`POST ${item}/answers`, input, { scheme, isRepeatable: true, ...options });
  }

  /** Takes back what an annotator said, and holds the item for the annotator. */
  reopen(
    { queue_id, item_id, ...name }: QueueItemName,
    reopening: Rest<"POST /annotation_queues/{queue_id}/items/{item_id}/reopen"> = {},
    options?: RequestOptions,
  ): Promise<Answer<"POST /annotation_queues/{queue_id}/items/{item_id}/reopen">> {
    const input = { path: { queue_id, item_id }, body: { ...name, ...reopening } };
    return this.calls.value(`POST ${item}/reopen`, input, { scheme, isRepeatable: true, ...options });
  }

  /** Gives back an item that an annotator holds. */
  async release(
    { queue_id, item_id, ...name }: QueueItemName,
    annotator: { readonly annotator?: string } = {},
    options?: RequestOptions,
  ): Promise<AnnotationItem> {
    const input = { path: { queue_id, item_id }, body: { ...name, ...annotator } };
    const sent = { scheme, isRepeatable: true, ...options } as const;
    return (await this.calls.value(`POST ${item}/release`, input, sent)).item;
  }
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}
