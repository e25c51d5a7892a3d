// To version 27: what keys are called, how far they reach and for how long, when they were used, and the secret before a
// rotation.

export const keyColumns: readonly string[] = [
  "alter table access_keys add column name text",
  "alter table access_keys add column expires_at text",
  "alter table access_keys add column scopes text",
  "alter table access_keys add column project text",
  "alter table access_keys add column last_used_at text",
  "alter table access_keys add column previous_hash text",
  "alter table access_keys add column previous_until text",
  "create unique index access_keys_by_previous on access_keys (previous_hash)",
  "create index access_keys_of_entity on access_keys (entity, sequence)",
];
