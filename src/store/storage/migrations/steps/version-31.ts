// To version 31: limits of keys and of entities, and what servers counted of them together.

const limits = [
  "requests_per_minute",
  "tokens_per_minute",
  "concurrent_requests",
  "queue_percent",
  "queued_jobs",
];

/** For a database that has keys already, and for a new one. */
export const limitTables: readonly string[] = [
  ...limits.map((limit) => `alter table access_keys add column ${limit} integer`),
  `create table entity_limits (
    entity text not null primary key,
    ${limits.map((limit) => `${limit} integer`).join(", ")}
  )`,
  `create table limit_slots (
    subject text not null, slot integer not null, requests bigint not null, tokens bigint not null,
    primary key (subject, slot)
  )`,
  "create index limit_slots_by_time on limit_slots (slot)",
  `create table limit_running (
    server_id text not null references servers (id) on delete cascade,
    subject text not null, count integer not null,
    primary key (server_id, subject)
  )`,
  "create index limit_running_of_subject on limit_running (subject)",
  "create index jobs_by_key on jobs (key_id, state)",
];
