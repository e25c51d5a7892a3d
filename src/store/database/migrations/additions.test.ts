// Tests which migration steps count as additions. After such a step, servers with older programs can continue to run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedAddition } from "./additions.ts";

const allowed: readonly (readonly string[])[] = [
  [],
  ["alter table jobs add column made_by text"],
  ["alter table jobs add column lost_count integer not null default 0"],
  ["alter table jobs\n  add column warnings text not null default '[]'"],
  ["alter table jobs add column share real default 0.5"],
  ["create index jobs_by_key on jobs (key_id, state) where state = 'queued'"],
  [
    `create table notes (
      id text primary key, job_id text not null references jobs (id) on delete cascade,
      model_id text references models (id) on delete set null, unique (job_id, model_id)
    )`,
    "create unique index notes_in_order on notes (job_id)",
  ],
  ["create table rows (id text primary key) without rowid"],
];

const refused: readonly (readonly string[])[] = [
  ["alter table jobs add column made_by text not null"],
  ["alter table jobs add column made_by text unique"],
  ["alter table jobs add column model text references models (id)"],
  ["alter table jobs add column n integer default 1 check (n > 0)"],
  ["alter table jobs drop column made_by"],
  ["alter table jobs rename column made_by to author"],
  ["alter table jobs add column made_by text; drop table keys"],
  ["create unique index jobs_in_order on jobs (sequence)"],
  ["create table notes (id text primary key, job_id text references jobs (id))"],
  ["create table notes (a text references jobs (id) on delete cascade, b text references models (id))"],
  ["update jobs set state = 'queued'"],
  ["drop index jobs_by_key"],
  ["create trigger t after insert on jobs begin delete from jobs; end"],
];

test("accepts tables, indexes and optional columns as additions", () => {
  for (const statements of allowed) assert.equal(refusedAddition(statements), null, statements.join("; "));
});

test("names the statement that could refuse, change or keep a row of an older server", () => {
  for (const statements of refused)
    assert.equal(refusedAddition(["create table first (id text)", ...statements]), statements[0]);
});
