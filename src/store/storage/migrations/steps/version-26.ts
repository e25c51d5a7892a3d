// To version 26: what clients of traces publish and record: objects with their versions, tables of rows, files, and calls.

/** Those of traces/, which a new database has too. */
export const traceTables: readonly string[] = [
  // How many versions each name has had: whoever publishes one writes this row first.
  `create table published_names (
    project_id text not null, kind text not null, name text not null, version_count integer not null,
    primary key (project_id, kind, name)
  )`,
  `create table published_objects (
    project_id text not null, kind text not null, name text not null, digest text not null,
    version integer not null, value text not null, base_class text, leaf_class text,
    created_at text not null, created_by text not null,
    primary key (project_id, kind, name, digest)
  )`,
  "create unique index published_objects_in_order on published_objects (project_id, name, kind, version)",
  `create table traced_tables (
    project_id text not null, digest text not null, row_count integer not null, created_at text not null,
    primary key (project_id, digest)
  )`,
  `create table traced_rows (
    project_id text not null, digest text not null, value text not null,
    primary key (project_id, digest)
  )`,
  `create table traced_table_rows (
    project_id text not null, table_digest text not null, row_index integer not null,
    row_digest text not null,
    primary key (project_id, table_digest, row_index)
  )`,
  "create index traced_table_rows_by_digest on traced_table_rows (project_id, row_digest, table_digest)",
  `create table traced_files (
    project_id text not null, digest text not null, file_id text not null unique, entity text not null,
    byte_count bigint not null, created_at text not null,
    primary key (project_id, digest)
  )`,
  "create index traced_files_of_entity on traced_files (entity, byte_count)",
  `create table traced_calls (
    project_id text not null, id text not null, trace_id text, parent_id text, op_name text,
    started_at text, ended_at text, about text, attributes text, inputs text,
    ending text, output text, summary text, created_by text not null,
    primary key (project_id, id)
  )`,
  "create index traced_calls_in_order on traced_calls (project_id, started_at, id)",
  "create index traced_calls_by_trace on traced_calls (project_id, trace_id, started_at, id)",
  "create index traced_calls_by_parent on traced_calls (project_id, parent_id, started_at, id)",
];
