// To version 22: annotation queues with their items, and how far each annotator is.

/** Those of annotation/, which a new database has too. Whoever changes what is in a queue first writes the queue's row. */
export const annotationTables: readonly string[] = [
  `create table annotation_queues (
    id text primary key, sequence integer not null unique, project_id text not null, name text not null,
    folded_name text not null, description text not null, scorer_refs text not null, questions text not null,
    annotators_per_item integer not null, created_at text not null, created_by text not null,
    updated_at text not null, deleted_at text,
    last_position integer not null default 0, last_change integer not null default 0
  )`,
  "create index annotation_queues_of_project on annotation_queues (project_id, sequence)",
  `create table annotation_items (
    id text primary key,
    queue_id text not null references annotation_queues (id) on delete cascade,
    position integer not null, vendor_ref text not null, call_id text not null, display_fields text not null,
    added_by text not null, created_at text not null, completed_count integer not null default 0,
    unique (queue_id, position), unique (queue_id, vendor_ref)
  )`,
  "create index annotation_items_to_do on annotation_items (queue_id, completed_count, position)",
  `create table annotation_states (
    item_id text not null references annotation_items (id) on delete cascade,
    annotator text not null, queue_id text not null, state text not null, held_until text, updated_at text not null,
    primary key (item_id, annotator)
  )`,
  "create index annotation_states_of_annotator on annotation_states (queue_id, annotator, state)",
];
