// To version 25: webhooks, and the events on their way to each.

/** Those of store/storage/webhooks, which a new database has too. */
export const webhookTables: readonly string[] = [
  `create table webhooks (
    id text not null primary key, sequence integer not null unique, entity text not null, url text not null,
    events text not null, project_id text, feedback_type text, records_max integer not null,
    secret text not null, created_at text not null, disabled_at text, disabled_reason text,
    failing_since text, last_sequence integer not null default 0, pending_count integer not null default 0
  )`,
  "create index webhooks_of_entity on webhooks (entity, sequence)",
  `create table webhook_deliveries (
    id text not null primary key,
    webhook_id text not null references webhooks (id) on delete cascade,
    sequence integer not null, type text not null, subject text not null, state text not null,
    created_at text not null, tried_since text not null, due_at text, owner text, ended_at text,
    attempt_count integer not null default 0, attempts text not null default '[]'
  )`,
  "create unique index webhook_deliveries_in_order on webhook_deliveries (webhook_id, sequence)",
  "create index webhook_deliveries_by_state on webhook_deliveries (webhook_id, state, sequence)",
  "create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at)",
  "create index webhook_deliveries_ended on webhook_deliveries (ended_at)",
];
