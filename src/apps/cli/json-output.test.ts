import assert from "node:assert/strict";
import { test } from "node:test";
import { selectedLines } from "./json-output.ts";

const jobs = [
  { id: "a", state: "running", progress: { steps: 3, "data/reward": 0.5 }, warnings: ["one\ttwo\nthree"] },
  { id: "b", state: "queued", progress: null, warnings: [] },
];

test("prints the selected fields, a line per record, with empty texts for missing values", () => {
  assert.deepEqual(selectedLines(jobs, "id, state"), ["a\trunning\n", "b\tqueued\n"]);
  assert.deepEqual(selectedLines(jobs, "progress.steps,id"), ["3\ta\n", "\tb\n"]);
  assert.deepEqual(selectedLines(jobs[0], "id"), ["a\n"]);
  assert.deepEqual(selectedLines([], "id"), []);
});

test("finds fields in objects and lists, and keys that have dots", () => {
  assert.deepEqual(selectedLines(jobs, "warnings.0"), ["one two three\n", "\n"]);
  assert.deepEqual(selectedLines({ "a.b": { "c.d": 1 } }, "a.b.c.d"), ["1\n"]);
  assert.deepEqual(selectedLines({ a: { b: [1, { c: null }] } }, "a,a.b.1"), [
    '{"b":[1,{"c":null}]}\t{"c":null}\n',
  ]);
});

test("refuses a field that no record has, and names the fields", () => {
  assert.throws(() => selectedLines(jobs, "id,nme"), {
    message: 'There is no field "nme"; the fields are id, state, progress, warnings.',
  });
  assert.throws(() => selectedLines(jobs, "id,"), /write field names such as id,state/);
  assert.throws(() => selectedLines(jobs, "constructor"), /no field "constructor"/);
});
