// The contract that every TraceStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallEnd, CallFilter, CallSlice, CallStart } from "../../../base/domain/traces/traced-call.ts";
import type { TracedFile } from "../../../base/domain/traces/traced-file.ts";
import { sampleObject } from "./object-store.ts";
import { type MakeStorage, moment, openTwice } from "./storage-under-test.ts";

const projectId = "team/games";

function rowsOf(...values: readonly string[]) {
  return values.map((value) => ({ digest: `digest of ${value}`, value: JSON.stringify(value) }));
}

function sampleFile(digest: string, changes: Partial<TracedFile> = {}): TracedFile {
  return {
    projectId,
    digest,
    fileId: `id of ${digest}`,
    entity: "team",
    byteCount: 10,
    createdAt: moment(0),
    ...changes,
  };
}

function sampleStart(id: string, changes: Partial<CallStart> = {}): CallStart {
  return {
    projectId,
    id,
    traceId: "t",
    parentId: null,
    opName: "weave:///team/games/op/f:v1",
    startedAt: `2026-11-21T12:00:0${id.length}.000000Z`,
    about: '{"display_name":null}',
    attributes: '{"a":1.0}',
    inputs: '{"x":"\\u0000"}',
    createdBy: "Ada",
    ...changes,
  };
}

function sampleEnd(id: string, changes: Partial<CallEnd> = {}): CallEnd {
  return {
    projectId,
    id,
    endedAt: "2026-11-21T12:00:09.000000Z",
    ending: '{"exception":null}',
    output: "12345678901234567890",
    summary: "{}",
    createdBy: "Ada",
    ...changes,
  };
}

const allCalls: CallFilter = {
  opNames: null,
  ids: null,
  traceIds: null,
  parentIds: null,
  rootsOnly: false,
  startedFrom: null,
  startedBefore: null,
  status: null,
  words: [],
};
const firstHundred = { limit: 100, offset: 0 };
const firstCalls = { ...firstHundred, isDescending: false };

/** Registers the tests that a trace store must pass. */
export function checkTraceStore(makeStorage: MakeStorage): void {
  test("returns a table in order, limited by items and bytes, and adds nothing for the same table", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const table = { projectId, digest: "d", createdAt: moment(0) };
    const rows = rowsOf("b", "a", "c", "a");
    await first.traces.tables.create(table, rows);
    await first.traces.tables.create(table, rows);
    await first.traces.tables.create({ ...table, digest: "empty" }, []);
    await first.close();
    const { tables } = (await open()).traces;
    const counts = await Promise.all(["d", "empty", "none"].map((digest) => tables.count(projectId, digest)));
    assert.deepEqual(counts, [4, 0, null]);
    assert.equal(await tables.count("team/other", "d"), null);
    const listed = async (slice: object = {}, rowDigests: readonly string[] | null = null) =>
      (await tables.rows(projectId, "d", rowDigests, { ...firstHundred, ...slice })).map(
        ({ index, value }) => `${index}${value}`,
      );
    assert.deepEqual(await listed(), ['0"b"', '1"a"', '2"c"', '3"a"']);
    assert.deepEqual(await listed({ limit: 2, offset: 1 }), ['1"a"', '2"c"']);
    assert.deepEqual(await listed({ bytesMax: 7 }), ['0"b"', '1"a"']);
    assert.deepEqual(await listed({}, ["digest of a", "none"]), ['1"a"', '3"a"']);
    assert.deepEqual(await listed({}, []), []);
    assert.deepEqual(await tables.rows("team/other", "d", null, firstHundred), []);
  });

  test("creates a table from rows of others, and nothing if one of them is missing", async (t) => {
    const { traces } = await (await makeStorage(t))();
    const { tables } = traces;
    const named = (digest: string, project = projectId) => ({
      projectId: project,
      digest,
      createdAt: moment(0),
    });
    const [a, b, c] = rowsOf("a", "b", "c");
    await tables.create(named("first"), [a, b]);
    await tables.create(named("second"), [b, c, b]);
    await tables.createOf(
      named("all"),
      [c, a, b, b].map(({ digest }) => digest),
    );
    await tables.createOf(named("all"), []);
    await tables.createOf(named("empty"), []);
    const listed = async (digest: string) =>
      (await tables.rows(projectId, digest, null, firstHundred)).map(
        ({ index, value }) => `${index}${value}`,
      );
    assert.deepEqual(await listed("all"), ['0"c"', '1"a"', '2"b"', '3"b"']);
    assert.deepEqual([await tables.count(projectId, "all"), await tables.count(projectId, "empty")], [4, 0]);
    await assert.rejects(tables.createOf(named("none"), [a.digest, "digest of d"]), { code: "not_found" });
    await assert.rejects(tables.createOf(named("all", "team/other"), [a.digest]), { code: "not_found" });
    assert.deepEqual([await tables.count(projectId, "none"), await listed("none")], [null, []]);
  });

  test("stores a table of thousands of rows atomically", async (t) => {
    const { tables } = (await (await makeStorage(t))()).traces;
    const rows = rowsOf(...Array.from({ length: 3000 }, (_, index) => `row ${index}`));
    await tables.create({ projectId, digest: "d", createdAt: moment(0) }, rows);
    const [last] = await tables.rows(projectId, "d", null, { limit: 10, offset: 2999 });
    assert.deepEqual(last, { ...rows[2999], index: 2999 });
  });

  test("stores a file once per project, and limits the files of each entity separately", async (t) => {
    const { files } = (await (await makeStorage(t))()).traces;
    const file = sampleFile("a", { byteCount: 2 ** 40 });
    assert.deepEqual(await files.create(file, Infinity), file);
    assert.deepEqual(await files.create({ ...file, fileId: "again" }, 0), file);
    assert.deepEqual(await files.find(projectId, "a"), file);
    assert.equal(await files.find("team/other", "a"), null);
    assert.deepEqual([await files.isKnown("id of a"), await files.isKnown("again")], [true, false]);
    await assert.rejects(files.create(sampleFile("b"), 2 ** 40), { code: "too_large" });
    await files.create(sampleFile("b", { projectId: "o/p", entity: "o", fileId: "other" }), 10);
  });

  test("stores the same file from both connections once", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const stored = await Promise.all(
      [0, 1, 0, 1].map((side, index) =>
        sides[side].traces.files.create(sampleFile("a", { fileId: `id ${index}` }), 15),
      ),
    );
    assert.equal(new Set(stored.map(({ fileId }) => fileId)).size, 1);
  });

  test("assembles a call from its parts, in any order and with repetitions", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const [start, end] = [sampleStart("a"), sampleEnd("a")];
    const { calls } = first.traces;
    await calls.write([{ start: null, end }]);
    assert.deepEqual(await calls.list(projectId, allCalls, firstCalls), []);
    await calls.write([
      { start: sampleStart("a", { inputs: "{}" }), end: null },
      { start, end: null },
    ]);
    await calls.write([{ start, end }]);
    await calls.write([]);
    await first.close();
    const again = (await open()).traces.calls;
    assert.deepEqual(await again.list(projectId, allCalls, firstCalls), [{ ...start, end }]);
    await again.write([{ start: sampleStart("bb"), end: null }]);
    const [running] = await again.list(projectId, { ...allCalls, ids: ["bb"] }, firstCalls);
    assert.equal(running.end, null);
  });

  test("lists calls in starting order, filtered, limited by items and bytes", async (t) => {
    const { calls } = (await (await makeStorage(t))()).traces;
    const starts = [
      sampleStart("bb", { parentId: "a", opName: "weave:///team/games/op/g_é:v1" }),
      sampleStart("a"),
      sampleStart("ccc", { traceId: "u" }),
      sampleStart("dddd", { parentId: "ccc", traceId: "u", opName: "plain" }),
      sampleStart("e", { projectId: "team/other" }),
    ];
    await calls.write(starts.map((start) => ({ start, end: start.id === "a" ? sampleEnd("a") : null })));
    const listed = async (filter: Partial<CallFilter>, slice: Partial<CallSlice> = {}) =>
      (await calls.list(projectId, { ...allCalls, ...filter }, { ...firstCalls, ...slice }))
        .map(({ id }) => id)
        .join(" ");
    assert.equal(await listed({}), "a bb ccc dddd");
    assert.equal(await listed({}, { isDescending: true, limit: 2, offset: 1 }), "ccc bb");
    assert.equal(await listed({}, { bytesMax: 1 }), "a");
    // The position of a deleted call remains a valid cursor.
    const place = { startedAt: sampleStart("bb").startedAt, id: "b" };
    assert.equal(await listed({}, { after: place, limit: 1, offset: 1 }), "ccc");
    assert.equal(await listed({}, { after: sampleStart("bb") }), "ccc dddd");
    assert.equal(await listed({ rootsOnly: true }, { after: sampleStart("bb"), isDescending: true }), "a");
    assert.equal(await listed({ rootsOnly: true }), "a ccc");
    assert.equal(await listed({ traceIds: ["u"], parentIds: ["ccc"] }), "dddd");
    assert.equal(await listed({ ids: ["a", "e", "none"] }), "a");
    assert.equal(await listed({ ids: [] }), "");
    assert.equal(await listed({ opNames: ["plain", "weave:///team/games/op/g_é:*"] }), "bb dddd");
    assert.equal(await listed({ opNames: ["weave:///team/games/op/%:*"] }), "");
    const others = Array.from({ length: 998 }, (_, index) => `op ${index}:*`);
    assert.equal(await listed({ opNames: [...others, "plain", "weave:///team/games/op/g_é:*"] }), "bb dddd");
    assert.equal(await calls.count(projectId, { ...allCalls, traceIds: ["u"] }), 2);
    assert.equal(await calls.count(projectId, { ...allCalls, ids: [] }), 0);
    assert.equal(await calls.delete(projectId, ["a", "a", "e", "none"]), 1);
    assert.equal(await calls.delete(projectId, []), 0);
    assert.equal(await listed({}), "bb ccc dddd");
  });

  test("filters calls by time, status and words", async (t) => {
    const { calls } = (await (await makeStorage(t))()).traces;
    const failed = { exception: "Out of STOCK", wb_run_step_end: null };
    await calls.write([
      { start: sampleStart("a"), end: null },
      {
        start: sampleStart("bb", { inputs: '{"q":"refund 100%"}' }),
        end: sampleEnd("bb", { output: '"paid"' }),
      },
      { start: sampleStart("ccc"), end: sampleEnd("ccc", { ending: JSON.stringify(failed) }) },
      {
        start: sampleStart("dddd", { opName: "Track", inputs: '{"q":"Straße \\"x\\""}' }),
        end: sampleEnd("dddd", { ending: '{"exception":null,"wb_run_step_end":3}' }),
      },
    ]);
    const listed = async (filter: Partial<CallFilter>, slice: Partial<CallSlice> = {}) => {
      const found = await calls.list(projectId, { ...allCalls, ...filter }, { ...firstCalls, ...slice });
      if (Object.keys(slice).length === 0)
        assert.equal(await calls.count(projectId, { ...allCalls, ...filter }), found.length);
      return found.map(({ id }) => id).join(" ");
    };
    const { startedAt } = sampleStart("bb");
    assert.equal(await listed({ startedFrom: startedAt }), "bb ccc dddd");
    assert.equal(await listed({ startedBefore: startedAt }), "a");
    assert.equal(await listed({ status: "running" }), "a");
    assert.equal(await listed({ status: "error" }), "ccc");
    assert.equal(await listed({ status: "success" }), "bb dddd");
    assert.equal(await listed({ status: "success" }, { isDescending: true }), "dddd bb");
    assert.equal(await listed({ status: "success" }, { after: sampleStart("bb") }), "dddd");
    assert.equal(await listed({ words: ["refund", "paid"] }), "bb");
    assert.equal(await listed({ words: ["100%"] }), "bb");
    assert.equal(await listed({ words: ["10_%"] }), "");
    assert.equal(await listed({ words: ["stock"], status: "error" }), "ccc");
    assert.equal(await listed({ words: ["track"] }), "dddd");
    assert.equal(await listed({ words: ["straße", '"x"'] }), "dddd");
    assert.equal(await listed({ words: ["refund", "stock"] }), "");
  });

  test("removes everything of a project, and nothing of another", async (t) => {
    const { traces, objects } = await (await makeStorage(t))();
    for (const project of [projectId, "team/other"]) {
      const own = { projectId: project };
      await objects.create(sampleObject("a", own));
      await objects.create(sampleObject("a", { ...own, digest: "second" }));
      await traces.tables.create({ ...own, digest: "d", createdAt: moment(0) }, rowsOf("a", "b"));
      await traces.files.create(sampleFile("f", { ...own, fileId: `file of ${project}` }), Infinity);
      await traces.calls.write([{ start: sampleStart("a", own), end: sampleEnd("a", own) }]);
    }
    assert.deepEqual(await traces.deleteProject(projectId), ["file of team/games"]);
    assert.deepEqual(await traces.deleteProject(projectId), []);
    const found = async (project: string) => [
      (await objects.find(project, { kind: null, name: "a", version: "latest" }))?.version,
      (await traces.tables.rows(project, "d", null, firstHundred)).length,
      await traces.files.isKnown(`file of ${project}`),
      await traces.calls.count(project, allCalls),
    ];
    assert.deepEqual(await found(projectId), [undefined, 0, false, 0]);
    assert.deepEqual(await found("team/other"), [1, 2, true, 1]);
    assert.equal((await objects.create(sampleObject("a"))).version, 0);
    await traces.tables.create({ projectId, digest: "d", createdAt: moment(0) }, rowsOf("a", "b"));
    assert.equal(await traces.tables.count(projectId, "d"), 2);
  });
}
