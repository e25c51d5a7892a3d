// Selects those records of a write that a webhook receives, and groups them into events. Pure: it is used with every
// kind of store.
import { parseProjectId } from "../../../base/domain/project.ts";
import type { Webhook, WebhookSubject } from "../../../base/domain/webhooks/webhook.ts";
import { eventBytesMax } from "../../../base/domain/webhooks/webhook-store.ts";

/** The fields of a feedback record that an event needs. */
export interface EventRecord {
  readonly projectId: string;
  readonly id: string;
  readonly feedbackType: string;
  /** Approximate size of the stored record in bytes. */
  readonly byteCount: number;
}

export type SubscribedWebhook = Pick<Webhook, "id" | "entity" | "projectId" | "feedbackType" | "recordsMax">;

/**
 * Returns the events for a webhook. Each event contains records of one project, at most as many as the webhook accepts
 * and an event can hold.
 */
export function eventsOf(
  { entity, projectId, feedbackType, recordsMax }: SubscribedWebhook,
  records: readonly EventRecord[],
): readonly WebhookSubject[] {
  const wanted = new Map<string, EventRecord[]>();
  for (const record of records) {
    if (projectId !== null && record.projectId !== projectId) continue;
    if (feedbackType !== null && record.feedbackType !== feedbackType) continue;
    const those = wanted.get(record.projectId) ?? [];
    if (those.length === 0) wanted.set(record.projectId, those);
    those.push(record);
  }
  return [...wanted]
    .filter(([ofProject]) => parseProjectId(ofProject)?.entity === entity)
    .flatMap(([ofProject, those]) =>
      cut(those, recordsMax).map((ids) => ({ kind: "feedback" as const, projectId: ofProject, ids })),
    );
}

function cut(records: readonly EventRecord[], recordsMax: number): readonly (readonly string[])[] {
  const events: string[][] = [];
  let byteCount = Infinity;
  for (const record of records) {
    const last = events.at(-1);
    byteCount += record.byteCount;
    if (last !== undefined && last.length < recordsMax && byteCount <= eventBytesMax) last.push(record.id);
    else {
      events.push([record.id]);
      byteCount = record.byteCount;
    }
  }
  return events;
}
