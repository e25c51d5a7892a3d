// For tests of annotation queues: a server with the real feedback and queue services, and a fake clock.
import { createAnnotationService } from "../../../judge/annotation/annotation-service.ts";
import { annotationSettings, type AnnotationSettings } from "../../../judge/annotation/settings.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { present } from "../../../base/domain/assert.ts";
import { createFeedbackService } from "../../../judge/feedback/feedback-service.ts";
import { basic, fakeServer, keys } from "./fake-server.ts";

export const project = "acme/games";

/** Members that the answers of queue and feedback routes may have. */
export interface QueueAnswer {
  readonly id: string;
  readonly item: ShownItem | null;
  readonly items: readonly ShownItem[];
  readonly annotator: string;
  readonly content: { readonly messages: readonly object[]; readonly answers: readonly object[] } | null;
  readonly remaining: object;
  readonly stats: readonly { readonly total_items: number; readonly completed_items: number }[];
  readonly feedback: readonly ShownRecord[];
  readonly result: readonly ShownRecord[];
}

export interface ShownItem {
  readonly id: string;
  readonly queue_id: string;
  readonly call_id: string;
  readonly vendor_ref: string;
  readonly prompt: string | null;
  readonly answer: string | null;
  readonly weave_ref: string;
  readonly display_fields: readonly object[];
  readonly annotation_state: string;
  readonly annotator_user_id: string | null;
  readonly annotations: readonly object[];
  readonly position_in_queue: number | null;
}

export interface ShownRecord {
  readonly [field: string]: unknown;
  readonly id: string;
  readonly feedback_type: string;
  readonly payload: { readonly value: unknown };
  readonly annotation_ref: string | null;
  readonly creator: string | null;
}

export async function queueServer<Time extends Clock = FakeClock>(
  settings: Partial<AnnotationSettings> = {},
  // Clock of the server; by default a fake one.
  clock: Time = new FakeClock() as Clock as Time,
) {
  const server = await fakeServer({
    clock,
    services: (stores) => {
      const feedback = createFeedbackService({
        store: stores.feedback,
        queues: stores.annotation,
        specs: stores.objects,
        clock,
      });
      const annotation = createAnnotationService({
        store: stores.annotation,
        feedback,
        findSpec: async () => null,
        records: stores.feedback,
        completions: stores.completions,
        clock,
        settings: annotationSettings.with(settings),
      });
      return { feedback, annotation };
    },
  });
  const ask = async (
    method: "GET" | "POST" | "PUT" | "DELETE",
    url: string,
    body?: object,
    key: string = keys.member,
  ) => {
    const headers = { authorization: basic(key) };
    return server.ask({ method, url, headers, ...(body === undefined ? {} : { payload: body }) });
  };
  /** Sends a body with the project, and returns the answer. Throws if the request failed. */
  const post = async (path: string, body: object = {}): Promise<QueueAnswer> => {
    const answer = await ask("POST", path, { project_id: project, ...body });
    if (answer.statusCode !== 200) throw new Error(`${path} answers ${answer.statusCode}: ${answer.body}`);
    return answer.json<QueueAnswer>();
  };
  /** Claims an available item of a queue, and returns the item. */
  const take = async (path: string, body: object = {}): Promise<ShownItem> =>
    present((await post(`${path}/claim`, body)).item, "an item");
  /**
   * Creates a queue, and adds the calls `1`, `2` and so on to it.
   *
   * @returns the queue's path
   */
  const newQueue = async (queue: object = {}, callCount = 2): Promise<string> => {
    const { id } = await post("/annotation_queues", { name: "tone", questions: [toneQuestion], ...queue });
    const path = `/annotation_queues/${id}`;
    const calls = Array.from({ length: callCount }, (_, index) => String(index + 1));
    if (callCount > 0) await post(`${path}/items`, { call_ids: calls });
    return path;
  };
  return { ...server, server, clock, ask, post, take, newQueue };
}

export const toneQuestion = { name: "tone", text: "How does it sound?", schema: { enum: ["kind", "rude"] } };
