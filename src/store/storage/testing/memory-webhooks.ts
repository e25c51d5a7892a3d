// For tests: the webhook store in memory, and what the stores of feedback and jobs tell it.
import { newUuid } from "../../../base/domain/ids.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type {
  Delivery,
  FeedbackEventType,
  JobWebhookEventType,
  Webhook,
  WebhookEventType,
  WebhookSubject,
} from "../../../base/domain/webhooks/webhook.ts";
import { attemptsKept, pendingMax, type WebhookStore } from "../../../base/domain/webhooks/webhook-store.ts";
import { eventsOf, type EventRecord } from "../webhooks/events-of.ts";
import { type Exclusively, jsonBytes, type KeptDelivery, pageOf, type Tables } from "./memory-tables.ts";

export function memoryWebhooks(exclusively: Exclusively): WebhookStore {
  const change = (tables: Tables, id: string, changes: Partial<Webhook>): Webhook | null => {
    tables.webhooks = tables.webhooks.map((one) => (one.id === id ? { ...one, ...changes } : one));
    return shown(tables, id);
  };
  return {
    create: (webhook, { countMax }) =>
      exclusively((tables) => {
        if (tables.webhooks.filter(({ entity }) => entity === webhook.entity).length >= countMax)
          throw new ServiceError({ code: "conflict", message: "There are too many." });
        tables.webhooks = [
          ...tables.webhooks,
          { ...webhook, disabled: null, failingSince: null, pendingCount: 0 },
        ];
      }),
    find: (id) => exclusively((tables) => shown(tables, id)),
    list: ({ entity }, page) =>
      exclusively((tables) => {
        const listed = tables.webhooks.filter((one) => one.entity === (entity ?? one.entity));
        return pageOf(
          listed.map((one) => ({ ...one, pendingCount: pendingCount(tables, one.id) })),
          page,
        );
      }),
    change: (id, choice) => exclusively((tables) => change(tables, id, choice)),
    enable: (id) => exclusively((tables) => change(tables, id, { disabled: null, failingSince: null })),
    disable: (id, reason, at) => exclusively((tables) => disable(tables, id, reason, at)),
    delete: (id) =>
      exclusively((tables) => {
        const kept = tables.webhooks.filter((one) => one.id !== id);
        const isFound = kept.length < tables.webhooks.length;
        tables.webhooks = kept;
        tables.deliveries = tables.deliveries.filter(({ delivery }) => delivery.webhookId !== id);
        return isFound;
      }),
    ...deliveries(exclusively),
  };
}

function deliveries(
  exclusively: Exclusively,
): Omit<WebhookStore, "create" | "find" | "list" | "change" | "enable" | "disable" | "delete"> {
  const ofWebhook = (tables: Tables, id: string) =>
    tables.deliveries.filter(({ delivery }) => delivery.webhookId === id).map(({ delivery }) => delivery);
  return {
    listDeliveries: (webhookId, { state }, page) =>
      exclusively((tables) => {
        const places = ofWebhook(tables, webhookId);
        const listed = places.filter((one) => one.state === (state ?? one.state));
        return pageOf(listed, page, { places, bytesOf: ({ attempts }) => jsonBytes(attempts) });
      }),
    findDelivery: (webhookId, id) =>
      exclusively((tables) => ofWebhook(tables, webhookId).find((one) => one.id === id) ?? null),
    replay: (webhookId, which, { at, countMax }) =>
      exclusively((tables) => {
        const again = ofWebhook(tables, webhookId)
          .filter((one) =>
            "id" in which
              ? one.id === which.id && one.state !== "pending"
              : one.state === "failed" && one.endedAt !== null && one.endedAt >= which.failedSince,
          )
          .slice(0, countMax)
          .map(({ id }) => id);
        changeDeliveries(
          tables,
          ({ delivery }) => again.includes(delivery.id),
          ({ delivery }) => ({
            delivery: { ...delivery, state: "pending", dueAt: at, triedSince: at, endedAt: null },
            owner: null,
          }),
        );
        return again.length;
      }),
    withDue: (at) =>
      exclusively((tables) =>
        tables.webhooks
          .filter(({ id, disabled }) => disabled === null && dueOf(tables, id, at).length > 0)
          .map(({ id, entity }) => ({ id, entity })),
      ),
    claim: (webhookId, { owner, at, until, limit }) =>
      exclusively((tables) => {
        const claimed = dueOf(tables, webhookId, at)
          .slice(0, limit)
          .map(({ delivery }) => delivery.id);
        const isClaimed = ({ delivery }: KeptDelivery) => claimed.includes(delivery.id);
        changeDeliveries(tables, isClaimed, ({ delivery }) => ({
          delivery: { ...delivery, dueAt: until },
          owner,
        }));
        return tables.deliveries.filter(isClaimed).map(({ delivery }) => delivery);
      }),
    settle: ({ id, webhookId }, owner, attempt, outcome) =>
      exclusively((tables) => {
        const isSettled = (one: KeptDelivery) => one.delivery.id === id && one.owner === owner;
        if (!tables.deliveries.some(isSettled)) return;
        const isOver = outcome.state !== "pending";
        changeDeliveries(tables, isSettled, ({ delivery }) => ({
          delivery: {
            ...delivery,
            state: outcome.state,
            dueAt: isOver ? null : outcome.dueAt,
            endedAt: isOver ? outcome.at : null,
            attempts: [...delivery.attempts, attempt].slice(-attemptsKept),
            attemptCount: delivery.attemptCount + 1,
          },
          owner: null,
        }));
        tables.webhooks = tables.webhooks.map((one) =>
          one.id === webhookId
            ? {
                ...one,
                failingSince: outcome.state === "delivered" ? null : (one.failingSince ?? attempt.at),
              }
            : one,
        );
      }),
    deleteEnded: ({ endedBefore, countMax }) =>
      exclusively((tables) => {
        const isKept = ({ delivery: { webhookId, endedAt }, sequence }: KeptDelivery) =>
          endedAt === null ||
          (endedAt >= endedBefore && sequence > lastSequence(tables, webhookId) - countMax);
        const kept = tables.deliveries.filter(isKept);
        const removedCount = tables.deliveries.length - kept.length;
        tables.deliveries = kept;
        return removedCount;
      }),
  };
}

/** What a write of feedback tells. */
export function tellFeedback(tables: Tables, type: FeedbackEventType, records: readonly EventRecord[]): void {
  for (const webhook of subscribed(tables, type))
    addEvents(tables, webhook, type, eventsOf(webhook, records));
}

/** What the end of a job tells. */
export function tellJob(tables: Tables, type: JobWebhookEventType, jobId: string): void {
  const job = tables.jobs.find((one) => one.job.id === jobId)?.job;
  const model = tables.models.find(({ id }) => id === job?.modelId);
  if (model === undefined) return;
  const projectId = `${model.entity}/${model.project}`;
  for (const webhook of subscribed(tables, type))
    if (webhook.entity === model.entity && (webhook.projectId ?? projectId) === projectId)
      addEvents(tables, webhook, type, [{ kind: "job", jobId }]);
}

function subscribed(tables: Tables, type: WebhookEventType): readonly Webhook[] {
  return tables.webhooks.filter(({ events, disabled }) => disabled === null && events.includes(type));
}

function addEvents(
  tables: Tables,
  { id: webhookId }: Webhook,
  type: WebhookEventType,
  subjects: readonly WebhookSubject[],
): void {
  const at = tables.clock.now();
  if (pendingCount(tables, webhookId) + subjects.length > pendingMax)
    return disable(tables, webhookId, `More than ${pendingMax} deliveries waited.`, at);
  for (const subject of subjects) {
    const delivery: Delivery = {
      id: `msg_${newUuid()}`,
      webhookId,
      type,
      subject,
      createdAt: at,
      state: "pending",
      attempts: [],
      attemptCount: 0,
      triedSince: at,
      dueAt: at,
      endedAt: null,
    };
    const sequence = lastSequence(tables, webhookId) + 1;
    tables.deliveries = [...tables.deliveries, { delivery, sequence, owner: null }];
  }
}

function disable(tables: Tables, id: string, reason: string, at: Date): void {
  const isEnabled = (one: Webhook) => one.id === id && one.disabled === null;
  if (!tables.webhooks.some(isEnabled)) return;
  tables.webhooks = tables.webhooks.map((one) =>
    one.id === id ? { ...one, disabled: { at, reason } } : one,
  );
  changeDeliveries(
    tables,
    ({ delivery }) => delivery.webhookId === id && delivery.state === "pending",
    ({ delivery }) => ({
      delivery: { ...delivery, state: "failed", dueAt: null, endedAt: at },
      owner: null,
    }),
  );
}

function changeDeliveries(
  tables: Tables,
  which: (one: KeptDelivery) => boolean,
  change: (one: KeptDelivery) => Partial<KeptDelivery>,
): void {
  tables.deliveries = tables.deliveries.map((one) => (which(one) ? { ...one, ...change(one) } : one));
}

function shown(tables: Tables, id: string): Webhook | null {
  const found = tables.webhooks.find((one) => one.id === id);
  return found === undefined ? null : { ...found, pendingCount: pendingCount(tables, id) };
}

function pendingCount(tables: Tables, webhookId: string): number {
  const isPending = ({ delivery }: KeptDelivery) =>
    delivery.webhookId === webhookId && delivery.state === "pending";
  return tables.deliveries.filter(isPending).length;
}

function lastSequence(tables: Tables, webhookId: string): number {
  const ofWebhook = tables.deliveries.filter(({ delivery }) => delivery.webhookId === webhookId);
  return Math.max(0, ...ofWebhook.map(({ sequence }) => sequence));
}

function dueOf(tables: Tables, webhookId: string, at: Date): readonly KeptDelivery[] {
  return tables.deliveries
    .filter(({ delivery: { webhookId: own, dueAt } }) => own === webhookId && dueAt !== null && dueAt <= at)
    .sort(
      (one, other) =>
        (one.delivery.dueAt?.getTime() ?? 0) - (other.delivery.dueAt?.getTime() ?? 0) ||
        one.sequence - other.sequence,
    );
}
