// To version 28: what keys have used (store/storage/keys/usage-store), and which key asked for a job.

export const addVersion28: readonly string[] = [
  "alter table jobs add column key_id text",
  `create table key_usage (
    day text not null, key_id text not null, model text not null, entity text not null,
    requests bigint not null, prompt_tokens bigint not null, cached_tokens bigint not null,
    completion_tokens bigint not null, training_tokens bigint not null,
    primary key (day, key_id, model)
  )`,
  "create index key_usage_of_entity on key_usage (entity, day)",
];
