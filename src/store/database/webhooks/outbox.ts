// Writes webhook events in the same transaction as the change that they report. If there are no webhooks, this needs no
// query on a database with a single server, and one short query per change on other databases.
import type { Transaction } from "kysely";
import type { Clock } from "../../../base/domain/clock.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { parseProjectId } from "../../../base/domain/project.ts";
import type {
  FeedbackEventType,
  JobWebhookEventType,
  LearningEventType,
  WebhookEventType,
  WebhookSubject,
} from "../../../base/domain/webhooks/webhook.ts";
import { pendingMax } from "../../../base/domain/webhooks/webhook-store.ts";
import type { Connection } from "../dialect.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { disableWebhook } from "./webhook-rows.ts";
import { eventsOf, type EventRecord, type SubscribedWebhook } from "./events-of.ts";

/** Maximum number of rows that one SQL statement writes. */
const rowsMax = 100;

export interface FeedbackChange {
  readonly type: FeedbackEventType;
  /** Ids of the projects to which the records belong. */
  readonly projectIds: readonly string[];
  /** Returns the records that were written or removed. Called only if a webhook may receive them. */
  readonly records: () => readonly EventRecord[];
}

export interface Outbox {
  /**
   * Adds events for feedback records that were written or removed. Should be called late in the transaction, because
   * other writers wait from this call on.
   */
  addFeedback(transaction: Transaction<Schema>, change: FeedbackChange): Promise<void>;
  addJob(transaction: Transaction<Schema>, type: JobWebhookEventType, jobId: string): Promise<void>;
  addCycle(
    transaction: Transaction<Schema>,
    type: LearningEventType,
    cycle: { readonly id: string; readonly modelId: string },
  ): Promise<void>;
  /** Must be called before a webhook is created, so that the outbox no longer assumes that there are no webhooks. */
  expectWebhooks(): void;
}

export function createOutbox({ isExclusive }: Pick<Connection, "isExclusive">, clock: Clock): Outbox {
  // True if there may be webhooks; null if unknown. On a database with a single server, the answer stays valid until
  // this process creates a webhook.
  let mayHave: boolean | null = null;
  const hasNone = async (transaction: Transaction<Schema>): Promise<boolean> => {
    if (!isExclusive || mayHave === true) return false;
    if (mayHave === null) {
      const found = await transaction.selectFrom("webhooks").select("id").limit(1).executeTakeFirst();
      mayHave ??= found !== undefined;
    }
    return !mayHave;
  };
  /** Adds an event about a model of this project. */
  const addOf = async (
    transaction: Transaction<Schema>,
    type: WebhookEventType,
    { entity, project }: { readonly entity: string; readonly project: string },
    subject: WebhookSubject,
  ): Promise<void> => {
    const projectId = `${entity}/${project}`;
    for (const webhook of await subscribed(transaction, type, [entity])) {
      if (webhook.projectId !== null && webhook.projectId !== projectId) continue;
      await addEvents(transaction, webhook.id, { type, at: clock.now() }, [subject]);
    }
  };
  return {
    addFeedback: async (transaction, { type, projectIds, records: recordsOf }) => {
      if (projectIds.length === 0 || (await hasNone(transaction))) return;
      const entities = new Set(projectIds.map((projectId) => parseProjectId(projectId)?.entity ?? ""));
      const webhooks = await subscribed(transaction, type, [...entities]);
      if (webhooks.length === 0) return;
      const records = recordsOf();
      for (const webhook of webhooks)
        await addEvents(transaction, webhook.id, { type, at: clock.now() }, eventsOf(webhook, records));
    },
    addJob: async (transaction, type, jobId) => {
      if (await hasNone(transaction)) return;
      const model = await transaction
        .selectFrom("jobs")
        .innerJoin("models", "models.id", "jobs.model_id")
        .select(["models.entity", "models.project"])
        .where("jobs.id", "=", jobId)
        .executeTakeFirst();
      if (model === undefined) return;
      await addOf(transaction, type, model, { kind: "job", jobId });
    },
    addCycle: async (transaction, type, { id: cycleId, modelId }) => {
      if (await hasNone(transaction)) return;
      const model = await transaction
        .selectFrom("models")
        .select(["entity", "project"])
        .where("id", "=", modelId)
        .executeTakeFirst();
      if (model !== undefined) await addOf(transaction, type, model, { kind: "cycle", modelId, cycleId });
    },
    expectWebhooks: () => {
      mayHave = true;
    },
  };
}

/** Returns the fields of a feedback record for an event that contains the record. */
export function eventRecord(record: FeedbackRecord): EventRecord {
  const { projectId, id, feedbackType } = record;
  return { projectId, id, feedbackType, byteCount: JSON.stringify(record).length };
}

/** Returns the fields of a feedback record for an event that contains only the record's id. */
export function purgedRecord({ projectId, id, feedbackType }: FeedbackRecord): EventRecord {
  return { projectId, id, feedbackType, byteCount: 0 };
}

/**
 * Returns the enabled webhooks of the given entities that receive events of this type. Their order is fixed, to avoid
 * deadlocks.
 */
async function subscribed(
  transaction: Transaction<Schema>,
  type: WebhookEventType,
  entities: readonly string[],
): Promise<readonly SubscribedWebhook[]> {
  const rows = await transaction
    .selectFrom("webhooks")
    .select(["id", "entity", "events", "project_id", "feedback_type", "records_max"])
    .where("disabled_at", "is", null)
    .where("entity", "in", entities)
    .orderBy("id")
    .execute();
  return rows
    .filter(({ events }) => (JSON.parse(events) as readonly string[]).includes(type))
    .map((row) => ({
      id: row.id,
      entity: row.entity,
      projectId: row.project_id,
      feedbackType: row.feedback_type === null ? null : String(JSON.parse(row.feedback_type)),
      recordsMax: row.records_max,
    }));
}

async function addEvents(
  transaction: Transaction<Schema>,
  webhookId: string,
  { type, at }: { readonly type: WebhookEventType; readonly at: Date },
  subjects: readonly WebhookSubject[],
): Promise<void> {
  if (subjects.length === 0) return;
  const counted = await transaction
    .updateTable("webhooks")
    .set((row) => ({
      last_sequence: row("last_sequence", "+", subjects.length),
      pending_count: row("pending_count", "+", subjects.length),
    }))
    .where("id", "=", webhookId)
    .where("disabled_at", "is", null)
    .returning(["last_sequence", "pending_count"])
    .executeTakeFirst();
  if (counted === undefined) return;
  if (counted.pending_count > pendingMax) {
    const reason = `More than ${pendingMax} deliveries waited: the receiver does not keep up, or does not answer.`;
    await disableWebhook(transaction, webhookId, reason, at);
    return;
  }
  const first = counted.last_sequence - subjects.length + 1;
  const rows = subjects.map((subject, index) => ({
    id: `msg_${newUuid()}`,
    webhook_id: webhookId,
    sequence: first + index,
    type,
    subject: JSON.stringify(subject),
    state: "pending",
    created_at: at.toISOString(),
    tried_since: at.toISOString(),
    due_at: at.toISOString(),
  }));
  for (const chunk of chunkRows(rows, { rowsMax, lengthOf: ({ subject }) => subject.length }))
    await transaction
      .insertInto("webhook_deliveries")
      .values([...chunk])
      .execute();
}
