// Reads rows of small and large groups and compares them with the stored groups. Also checks the memory that a reader
// holds.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { everyRow, type RowBounds } from "../../wire/trajectories/row-tasks.ts";
import type { RowPosition, RowSource } from "../../wire/trajectories/rows.ts";
import { readerBytes } from "../memory-budget/read-budget.ts";
import { RowReader } from "./row-reader.ts";
import { sourceRows, type RowChunk } from "./source-rows.ts";

const reader = new RowReader();
after(() => reader.close());

const mebibyte = 1 << 20;
const source: RowSource = {
  kind: "log",
  id: "log",
  split: "val",
  step: 0,
  recordedAt: "2026-01-01T00:00:00.000Z",
};
const anyRow = { rewardMin: null, rewardMax: null, metadata: [], words: [] } as const;

const trajectory = (reward: number, content: string) => ({
  messagesAndChoices: [{ role: "user", content }],
  tools: null,
  additionalHistories: [],
  reward,
  metadata: {},
  metrics: {},
  logs: [],
  extra: {},
});

/**
 * Reads all rows of the groups after a position. Returns the rows, and the part of the memory budget that the reader
 * held, in bytes.
 */
async function readAll(
  groups: readonly object[],
  options: { readonly place?: RowPosition; readonly bounds?: RowBounds; readonly key?: string } = {},
) {
  const { place = null, bounds = everyRow, key } = options;
  const parts = groups.flatMap((group) => [...foldedLine(JSON.stringify(group))]);
  const held: number[] = [];
  const chunks: RowChunk[] = [];
  const found = sourceRows(
    {
      linesFrom: async (part) =>
        (async function* () {
          yield* parts.slice(part);
        })(),
      reader,
      share: { hold: async (byteCount) => void held.push(byteCount) },
      client: "",
    },
    { source, bounds, filter: key === undefined ? anyRow : { ...anyRow, metadata: [{ key, value: "1" }] } },
    place,
  );
  for await (const portion of found) chunks.push(portion);
  const text = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
  const rows = text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const ids = chunks.flatMap((portion) => portion.ids);
  assert.deepEqual(
    rows.map(({ id }) => id),
    ids,
  );
  return { rows, held, chunks, ids };
}

/** A large group: sixteen trajectories with 4.8 MiB in total, followed by the members that each row repeats. */
const many = {
  trajectories: Array.from({ length: 16 }, (_, index) =>
    trajectory(index, `é${"x".repeat(0.3 * mebibyte)}${index}`),
  ),
  exceptions: [{ type: "E" }],
  metadata: { scene: 1 },
  metrics: { a: 2 },
  logs: [],
  extra: {},
};
const small = { ...many, trajectories: [trajectory(-1, "small")], metadata: {} };

test("reads a group stored in many parts like a small one, and also the group after it", async () => {
  const { rows, chunks } = await readAll([small, many, small]);
  const contents = rows.map((row) => (row["messages_and_choices"] as { content: string }[])[0]?.content);
  const expected = [small, many, small].flatMap((group) => group.trajectories);
  assert.deepEqual(
    contents,
    expected.map(({ messagesAndChoices: [message] }) => message?.content),
  );
  assert.deepEqual(
    rows.map((row) => row["group_metadata"]),
    [{}, ...many.trajectories.map(() => ({ scene: 1 })), {}],
  );
  const { last } = chunks.at(-1) ?? assert.fail("There are chunks.");
  const partCount = [...foldedLine(JSON.stringify(many))].length;
  assert.deepEqual(last, { sourceId: "log", part: 1 + partCount, group: 2, index: 0 });
});

test("continues within a group stored in many parts, and filters by members that come last", async () => {
  const place = { sourceId: "log", part: 1, group: 1, index: 12 };
  const { ids } = await readAll([small, many, small], { place, key: "scene" });
  assert.deepEqual(ids, ["log.1.1.13", "log.1.1.14", "log.1.1.15"]);
});

test("holds at most one trajectory of a large group in memory, and nothing extra for a small group", async () => {
  const { held, chunks } = await readAll([many]);
  const largest = Math.max(...many.trajectories.map((one) => Buffer.byteLength(JSON.stringify(one))));
  assert.deepEqual(held, [readerBytes + 3 * largest, readerBytes]);
  for (const { bytes } of chunks) assert.ok(bytes.length < 2 * mebibyte, String(bytes.length));
  assert.deepEqual((await readAll([small])).held, []);
});

test("repeats a group's other members in each row without enlarging chunks, and omits them if they are long", async () => {
  const trajectories = Array.from({ length: 8 }, (_, index) => trajectory(index, ""));
  const repeated = { text: "x".repeat(0.9 * mebibyte) };
  const { rows, chunks } = await readAll([{ ...small, trajectories, metadata: repeated }]);
  assert.deepEqual(
    rows.map((row) => row["reward"]),
    trajectories.map(({ reward }) => reward),
  );
  for (const { bytes } of chunks) assert.ok(bytes.length < 3 * mebibyte, String(bytes.length));
  const long = { ...small, metadata: { text: "x".repeat(1.1 * mebibyte) } };
  assert.deepEqual((await readAll([long])).rows[0]?.["group_metadata"], {});
});

test("writes a row that does not fit without its content, and writes at most the requested number of rows at a time", async () => {
  const { rows, chunks } = await readAll([many], { bounds: { count: 2, bytes: 1000 } });
  assert.equal(rows.length, 16);
  assert.ok(chunks.every(({ ids }) => ids.length <= 2));
  assert.ok(Number(rows[0]?.["left_out_bytes"]) > 0.3 * mebibyte);
  assert.deepEqual(rows[0]?.["messages_and_choices"], []);
});
