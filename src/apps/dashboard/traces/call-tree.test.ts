import assert from "node:assert/strict";
import { test } from "node:test";
import { callName, durationMs, timelineOf, topmost, treeRows, visibleRows } from "./call-tree.ts";

const at = (ms: number): string => new Date(1_795_998_899_000 + ms).toISOString();
const call = (id: string, parent_id: string | null, from: number, to: number | null) => ({
  id,
  parent_id,
  op_name: id,
  display_name: null,
  started_at: at(from),
  ended_at: to === null ? null : at(to),
});

test("each parent comes before its children, and siblings are in the order of their start", () => {
  const calls = [
    call("b", "a", 50, 60),
    call("d", "c", 12, 20),
    call("a", null, 0, 100),
    call("c", "a", 10, 40),
  ];
  const rows = treeRows(calls).map(({ call: { id }, depth, insideCount }) => [id, depth, insideCount]);
  assert.deepEqual(rows, [
    ["a", 0, 3],
    ["c", 1, 1],
    ["d", 2, 0],
    ["b", 1, 0],
  ]);
});

test("a collapsed call hides all calls below it, and no others", () => {
  const calls = [
    call("a", null, 0, 100),
    call("b", "a", 10, 40),
    call("c", "b", 12, 20),
    call("d", "a", 50, 60),
    call("e", null, 200, 210),
  ];
  const idsWith = (...collapsed: readonly string[]) =>
    visibleRows(treeRows(calls), new Set(collapsed)).map(({ call: { id } }) => id);
  assert.deepEqual(idsWith(), ["a", "b", "c", "d", "e"]);
  assert.deepEqual(idsWith("b"), ["a", "b", "d", "e"]);
  assert.deepEqual(idsWith("a", "b"), ["a", "e"]);
  assert.deepEqual(idsWith("c"), ["a", "b", "c", "d", "e"]);
});

test("the topmost calls that meet a condition do not contain each other", () => {
  const calls = [
    call("a", null, 0, 100),
    call("b1", "a", 1, 40),
    call("b2", "b1", 2, 20),
    call("b3", "a", 50, 60),
  ];
  const found = topmost(treeRows(calls), ({ id }) => id.startsWith("b"));
  assert.deepEqual(
    found.map(({ id }) => id),
    ["b1", "b3"],
  );
});

test("a call whose parent was not stored is shown as a root", () => {
  assert.deepEqual(
    treeRows([call("a", "lost", 0, 1)]).map(({ depth }) => depth),
    [0],
  );
});

test("a trace of ten thousand nested calls is no problem", () => {
  const calls = Array.from({ length: 10_000 }, (_, index) =>
    call(String(index), index === 0 ? null : String(index - 1), index, null),
  );
  const rows = treeRows(calls);
  assert.equal(rows.at(-1)?.depth, 9999);
  assert.equal(rows[0]?.insideCount, 9999);
});

test("a bar shows when a call ran within its trace; a running call lasts until the end", () => {
  const calls = [call("a", null, 0, 200), call("b", "a", 50, 100), call("c", "a", 150, null)];
  const { barOf } = timelineOf(calls);
  assert.deepEqual(calls.map(barOf), [
    { start: 0, length: 100 },
    { start: 25, length: 25 },
    { start: 75, length: 25 },
  ]);
  assert.deepEqual(calls.map(durationMs), [200, 50, null]);
});

test("the ticks of the time axis are round and few, and none is after the end", () => {
  const axisOf = (wholeMs: number) => {
    const { tickLength, ticksMs } = timelineOf([call("a", null, 0, wholeMs)]);
    return [tickLength, ...ticksMs];
  };
  assert.deepEqual(axisOf(200), [25, 0, 50, 100, 150, 200]);
  assert.deepEqual(axisOf(2300), [(100 * 1000) / 2300, 0, 1000, 2000]);
  assert.deepEqual(axisOf(0), [100, 0, 1]);
});

test("names a call as its client does, or by the name of its op", () => {
  const named = (op_name: string, display_name: string | null = null) =>
    callName({ ...call("a", null, 0, 1), op_name, display_name });
  assert.equal(named("weave:///acme/p/op/answer:3f2a"), "answer");
  assert.equal(named("openai.chat"), "openai.chat");
  assert.equal(named("weave:///acme/p/op/answer:*", "Answer"), "Answer");
});
