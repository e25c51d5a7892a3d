// The contract that every FeedbackStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { always, type Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackQuery, FeedbackScan } from "../../../base/domain/feedback-query/feedback-query.ts";
import { isSampled } from "../../../base/domain/feedback-query/sample.ts";
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import type { PageRequest } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  authorOf,
  batchOf,
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleFeedback,
} from "./storage-under-test.ts";

/** Options of a query with ample time; the entity does not matter. */
const turn = { entity: "team", timeMs: 60_000 };

/** Registers the tests that a feedback store must pass. */
export function checkFeedbackStore(makeStorage: MakeStorage): void {
  test("returns records unchanged and in order, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const records = [sampleFeedback("b"), sampleFeedback("a", { creator: "Bob", queueId: "q" })];
    assert.deepEqual(await first.feedback.create(records), records);
    assert.deepEqual(await first.feedback.create([]), []);
    await first.close();
    const { feedback } = await open();
    assert.deepEqual(await feedback.find("team/games", "a"), records[1]);
    assert.equal(await feedback.find("team/other", "a"), null);
  });

  test("finds records by id, as many as fit, within their project", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const there = ["c", "a", "b"].map((id) => sampleFeedback(id));
    await feedback.create([...there, sampleFeedback("d", { projectId: "team/other" })]);
    const idsOf = async (ids: readonly string[], bytesMax?: number) =>
      (await feedback.findMany("team/games", ids, bytesMax === undefined ? {} : { bytesMax })).map(
        ({ id }) => id,
      );
    assert.deepEqual(await feedback.findMany("team/games", ["a", "none", "d"]), [there[1]]);
    assert.deepEqual(await idsOf(["c", "b", "a"]), ["c", "a", "b"]);
    assert.deepEqual(await idsOf(["b", "c"], 1), ["c"]);
    assert.deepEqual(await idsOf([]), []);
  });

  test("stores ten thousand records atomically", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const records = Array.from({ length: 10_000 }, (_, index) => sampleFeedback(`r${index}`));
    assert.equal((await feedback.create(records)).length, 10_000);
    assert.deepEqual(await feedback.find("team/games", "r9999"), records[9999]);
  });

  test("answers a retry as it answered the first request, and adds nothing", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const first = sampleFeedback("a");
    await feedback.create([first]);
    const retried = sampleFeedback("a", { createdAt: moment(60), vendorUserId: "Bob" });
    const fresh = sampleFeedback("b");
    assert.deepEqual(await feedback.create([retried, fresh, retried]), [first, fresh, first]);
    assert.deepEqual(await feedback.find("team/games", "a"), first);
  });

  test("refuses other content under an existing id with a conflict that names each index, and stores nothing", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    await feedback.create([sampleFeedback("a"), sampleFeedback("a", { projectId: "team/other" })]);
    const changed = (id: string) => sampleFeedback(id, { contentHash: "changed" });
    const error = await feedback
      .create([changed("a"), sampleFeedback("new"), changed("new"), changed("fine")])
      .then(() => assert.fail("it passed"))
      .catch((caught: unknown) => caught);
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "conflict");
    assert.deepEqual(
      error.faults.map((fault) => fault.location),
      [
        ["0", "id"],
        ["2", "id"],
      ],
    );
    assert.equal(await feedback.find("team/games", "new"), null);
    assert.equal(await feedback.find("team/games", "fine"), null);
  });

  test("stores a batch in order and unchanged, and indexes it for queries", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    await feedback.create([sampleFeedback("before")]);
    const records = [
      sampleFeedback("plain", {
        payload: { value: 3, text: 'a "quoted"\n\u0001 line \u2028 é 👍', deep: [[{}], null] },
      }),
      sampleFeedback("half", {
        creator: "half \ud83d and NUL \0",
        queueId: "\udc4d",
        payload: { value: 1e-7 },
      }),
      sampleFeedback("number", { payload: { value: 0.1 + 0.2, text: "-12.5e3" } }),
      sampleFeedback("emoji", {
        payload: { emoji: "👍" },
        vendorRef: "other:///team/games/call/é%2F/attr/x",
      }),
      sampleFeedback("many", { payload: { list: Array.from({ length: 50 }, (_, index) => index) } }),
      sampleFeedback("long", { payload: { text: "x".repeat(1 << 19), value: 5 } }),
      sampleFeedback("elsewhere", {
        projectId: "team/other",
        annotationRef: "a",
        runnableRef: "r",
        callRef: "c",
        triggerRef: "t",
      }),
    ];
    assert.ok(await feedback.createBatch(batchOf(feedback, records), authorOf(records[0])));
    for (const record of records) assert.deepEqual(await feedback.find(record.projectId, record.id), record);
    const { items } = await feedback.scan(
      { projectId: "team/games", condition: always, after: null, limit: 10 },
      turn,
    );
    assert.deepEqual(
      items.map(({ id }) => id),
      ["before", "plain", "half", "number", "emoji", "many", "long"],
    );
    assert.ok(await feedback.createBatch(batchOf(feedback, []), authorOf(records[0])));
  });

  test("refuses a batch with a taken or duplicate id, and stores nothing", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const taken = sampleFeedback("taken");
    await feedback.create([taken]);
    const [first, second] = [sampleFeedback("first"), sampleFeedback("second")];
    for (const batch of [
      [first, taken],
      [first, second, first],
    ])
      assert.equal(await feedback.createBatch(batchOf(feedback, batch), authorOf(taken)), false);
    assert.equal(await feedback.find("team/games", "first"), null);
    const elsewhere = sampleFeedback("taken", { projectId: "team/other" });
    assert.ok(await feedback.createBatch(batchOf(feedback, [first, elsewhere]), authorOf(taken)));
    assert.deepEqual(await feedback.find("team/games", "taken"), taken);
  });

  test("refuses one of several records created concurrently without affecting the others", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    await feedback.create([sampleFeedback("taken")]);
    const records = [
      ...Array.from({ length: 40 }, (_, index) => sampleFeedback(`r${index}`)),
      sampleFeedback("taken", { contentHash: "changed" }),
      sampleFeedback("r0", { createdAt: moment(60) }),
      sampleFeedback("r1", { contentHash: "changed" }),
      sampleFeedback("last"),
    ];
    const outcomes = await Promise.allSettled(records.map((record) => feedback.create([record])));
    assert.deepEqual(
      outcomes.map((outcome) =>
        outcome.status === "fulfilled" ? outcome.value[0] : (outcome.reason as ServiceError).code,
      ),
      [...records.slice(0, 40), "conflict", records[0], "conflict", sampleFeedback("last")],
    );
    assert.deepEqual(await feedback.find("team/games", "r39"), records[39]);
    assert.deepEqual(await feedback.find("team/games", "taken"), sampleFeedback("taken"));
  });

  test("keeps id and time on replacement, and adds the previous content to the history", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const first = sampleFeedback("a");
    await feedback.create([first]);
    const { id: _id, createdAt: _createdAt, ...second } = sampleFeedback("a", { payload: { value: 2 } });
    const { id: _id2, createdAt: _createdAt2, ...third } = sampleFeedback("a", { feedbackType: "other" });
    const replaced = await feedback.replace("team/games", "a", second, moment(10));
    assert.deepEqual(replaced, { ...second, id: "a", createdAt: first.createdAt });
    await feedback.replace("team/games", "a", third, moment(20));
    assert.equal((await feedback.find("team/games", "a"))?.feedbackType, "other");
    const history = await feedback.history("team/games", "a", firstPage);
    assert.deepEqual(
      history.items.map(({ replacedAt, record }) => [replacedAt, record]),
      [
        [moment(10), first],
        [moment(20), replaced],
      ],
    );
  });

  test("answers a retry after a replacement as it answered the first request, and changes nothing", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const first = sampleFeedback("a");
    await feedback.create([first]);
    const contents = ["second", "third"].map((contentHash) => {
      const { id: _id, createdAt: _at, ...content } = sampleFeedback("a", { contentHash });
      return content;
    });
    for (const content of contents) await feedback.replace("team/games", "a", content, moment(10));
    const late = sampleFeedback("a", { createdAt: moment(60) });
    assert.deepEqual(await feedback.create([late, sampleFeedback("b")]), [first, sampleFeedback("b")]);
    assert.equal((await feedback.find("team/games", "a"))?.contentHash, "third");
    // Creating the record again with the content of its replacement is a conflict, because the record was created with
    // other content.
    const other = sampleFeedback("a", { contentHash: "second" });
    await assert.rejects(feedback.create([other]), { code: "conflict" });
  });

  test("returns null and writes nothing when the project has no record to replace", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    await feedback.create([sampleFeedback("a")]);
    const { id: _id, createdAt: _createdAt, ...content } = sampleFeedback("a", { projectId: "team/other" });
    assert.equal(await feedback.replace("team/other", "a", content, moment(1)), null);
    assert.equal(await feedback.find("team/other", "a"), null);
    assert.deepEqual((await feedback.history("team/games", "a", firstPage)).items, []);
  });

  test("pages a history by items and bytes", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    await feedback.create([sampleFeedback("a", { payload: { value: 0 } }), sampleFeedback("b")]);
    for (let value = 1; value <= 5; value++) {
      const note = value === 3 ? "x".repeat(5000) : "";
      const { id: _id, createdAt: _at, ...content } = sampleFeedback("a", { payload: { value, note } });
      await feedback.replace("team/games", "a", content, moment(value));
      await feedback.replace("team/games", "b", { ...content, contentHash: "b" }, moment(value));
    }
    const values = async (page: Partial<PageRequest>) => {
      const { items, hasMore } = await feedback.history("team/games", "a", { ...firstPage, ...page });
      return [items.map(({ record }) => record.payload.value), hasMore];
    };
    assert.deepEqual(await values({}), [[0, 1, 2, 3, 4], false]);
    assert.deepEqual(await values({ limit: 2 }), [[0, 1], true]);
    assert.deepEqual(await values({ bytesMax: 3000 }), [[0, 1, 2], true]);
    const { items } = await feedback.history("team/games", "a", firstPage);
    assert.deepEqual(await values({ after: items[2].id, bytesMax: 3000 }), [[3], true]);
    assert.deepEqual(await values({ after: items[3].id }), [[4], false]);
    for (const after of ["x", "", "-1", `${items[0].id}.0`]) {
      await assert.rejects(feedback.history("team/games", "a", { ...firstPage, after }), {
        code: "invalid",
      });
    }
  });

  test("lists the feedback on a reference oldest first, in slices limited by items and bytes", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const on = (id: string, seconds: number, vendorRef = "r", projectId = "team/games") =>
      sampleFeedback(id, { vendorRef, projectId, createdAt: moment(seconds), payload: { id } });
    await feedback.create([on("c", 2), on("a", 1), on("b", 2), on("d", 3)]);
    await feedback.create([on("other", 1, "s"), on("a", 1, "r", "team/other")]);
    const condition = compare(
      "eq",
      { kind: "field", field: { kind: "text", name: "vendorRef" } },
      constant("r"),
    );
    const sortBy = [{ field: { kind: "createdAt" }, direction: "asc" }] as const;
    const query = { projectId: "team/games", condition, sortBy, limit: 10, offset: 0 };
    const listed = async (slice: Partial<FeedbackQuery> = {}) => {
      const { items, totalCount } = await feedback.query({ ...query, ...slice }, turn);
      return [items.map(({ id }) => id), totalCount];
    };
    assert.deepEqual(await listed(), [["a", "c", "b", "d"], 4]);
    assert.deepEqual(await listed({ limit: 2, offset: 1 }), [["c", "b"], 4]);
    assert.deepEqual(await listed({ bytesMax: 1, offset: 2 }), [["b"], 4]);
    assert.deepEqual(await listed({ limit: 0 }), [[], 4]);
    assert.deepEqual(await listed({ offset: Number.MAX_SAFE_INTEGER }), [[], 4]);
    const [first] = (await feedback.query({ ...query, limit: 1 }, turn)).items;
    assert.deepEqual(first, on("a", 1));
  });

  test("scans records in storage order, in pages limited by items and bytes", async (t) => {
    const [{ feedback }, other] = await openTwice(makeStorage, t);
    const scanned = async (changes: Partial<FeedbackScan> = {}) => {
      const asked = { projectId: "team/games", condition: always, after: null, limit: 10 };
      const page = await feedback.scan({ ...asked, ...changes }, turn);
      return { ...page, items: page.items.map(({ id }) => id) };
    };
    assert.deepEqual(await scanned(), { items: [], last: null, hasMore: false });
    await feedback.create([sampleFeedback("c"), sampleFeedback("a"), sampleFeedback("c")]);
    await other.feedback.create([sampleFeedback("b", { creator: "Bob" }), sampleFeedback("a")]);
    await feedback.create([sampleFeedback("x", { projectId: "team/other" })]);
    const all = await scanned();
    assert.deepEqual(all.items, ["c", "a", "b"]);
    const first = await scanned({ limit: 2 });
    assert.deepEqual([first.items, first.hasMore], [["c", "a"], true]);
    assert.deepEqual((await scanned({ after: first.last })).items, ["b"]);
    assert.deepEqual((await scanned({ bytesMax: 1 })).items, ["c"]);
    const creator: Condition = {
      kind: "compare",
      operator: "eq",
      left: { kind: "field", field: { kind: "text", name: "creator" } },
      right: { kind: "constant", type: "text", value: "Bob" },
    };
    const one: string[] = [];
    for (let after: number | null = null, hasMore = true; hasMore;) {
      const page = await scanned({ condition: creator, limit: 1, after });
      one.push(...page.items);
      ({ last: after, hasMore } = page);
    }
    assert.deepEqual(one, ["b"]);
    assert.deepEqual((await scanned({ condition: creator })).items, ["b"]);
    await feedback.delete("team/games", ["c", "a"]);
    assert.deepEqual((await scanned()).items, ["b"]);
  });

  test("moves a replaced record to the end of the change order, where it occurs once", async (t) => {
    const [{ feedback }, other] = await openTwice(makeStorage, t);
    const scanned = async (changes: Partial<FeedbackScan> = {}) => {
      const asked = { projectId: "team/games", condition: always, order: "changed", after: null, limit: 10 };
      const page = await feedback.scan({ ...asked, ...changes } as FeedbackScan, turn);
      return { ...page, items: page.items.map(({ id, contentHash }) => `${id} ${contentHash}`) };
    };
    const { id: _id, createdAt: _at, ...content } = sampleFeedback("a");
    const replace = (id: string, contentHash: string) =>
      other.feedback.replace("team/games", id, { ...content, contentHash }, moment(1));
    await feedback.create(["a", "b", "c"].map((id) => sampleFeedback(id, { contentHash: "1" })));
    const { last } = await scanned();
    await replace("b", "2");
    assert.deepEqual((await scanned()).items, ["a 1", "c 1", "b 2"]);
    await feedback.create([sampleFeedback("d", { contentHash: "1" })]);
    await replace("a", "2");
    await replace("a", "3");
    await replace("none", "2");
    assert.deepEqual((await scanned({ after: last })).items, ["b 2", "d 1", "a 3"]);
    assert.deepEqual((await scanned({ order: "stored" })).items, ["a 3", "b 2", "c 1", "d 1"]);
    const paged: string[] = [];
    for (let after: number | null = null, hasMore = true; hasMore;) {
      const page = await scanned({ limit: 1, after });
      paged.push(...page.items);
      ({ last: after, hasMore } = page);
    }
    assert.deepEqual(paged, ["c 1", "b 2", "d 1", "a 3"]);
    await feedback.delete("team/games", ["a"]);
    await feedback.create([sampleFeedback("a", { contentHash: "4" })]);
    assert.deepEqual((await scanned({ after: last })).items, ["b 2", "d 1", "a 4"]);
  });

  test("continues a scan after any record, and scans a sample on request", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const ids = Array.from({ length: 200 }, (_, index) => `r${index}`);
    await feedback.create(ids.map((id) => sampleFeedback(id)));
    assert.equal(await feedback.placeOf("team/games", "none"), null);
    assert.equal(await feedback.placeOf("team/other", "r7"), null);
    const asked = { projectId: "team/games", condition: always, after: null, limit: 1000 };
    const after = await feedback.placeOf("team/games", "r150");
    const rest = await feedback.scan({ ...asked, after }, turn);
    assert.deepEqual(
      rest.items.map(({ id }) => id),
      ids.slice(151),
    );
    const sampled = async (share: number): Promise<readonly string[]> =>
      (await feedback.scan({ ...asked, share }, turn)).items.map(({ id }) => id);
    const places = await Promise.all(ids.map((id) => feedback.placeOf("team/games", id)));
    for (const share of [1, 0.25, 0.01])
      assert.deepEqual(
        await sampled(share),
        ids.filter((_, index) => isSampled(places[index] ?? NaN, share)),
      );
  });

  test("counts matching records by type, most frequent first", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const types = ["b", "a", "c", "\ud800", "c", "a"];
    const records = types.map((feedbackType, index) =>
      sampleFeedback(`r${index}`, { feedbackType, creator: index === 2 ? "Bob" : "Ann" }),
    );
    await feedback.create([...records, sampleFeedback("x", { projectId: "team/other", feedbackType: "x" })]);
    const counted = async (condition: Condition, typesMax = 10) => {
      const found = await feedback.countTypes({ projectId: "team/games", condition, typesMax }, turn);
      return [found.totalCount, ...found.types.map(({ feedbackType, count }) => `${feedbackType} ${count}`)];
    };
    assert.deepEqual(await counted(always), [6, "a 2", "c 2", "b 1", "\ufffd 1"]);
    assert.deepEqual(await counted(always, 2), [6, "a 2", "c 2"]);
    const byAnn = compare("eq", { kind: "field", field: { kind: "text", name: "creator" } }, constant("Ann"));
    assert.deepEqual(await counted(byAnn, 1), [5, "a 2"]);
    const nobodys = compare("eq", { kind: "field", field: { kind: "text", name: "creator" } }, constant("?"));
    assert.deepEqual(await counted(nobodys), [0]);
  });

  test("skips nothing in a scan during concurrent writes", async (t) => {
    const [one, other] = await openTwice(makeStorage, t);
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
    const writing = Promise.all(
      ids.map((id, index) => (index % 2 === 0 ? one : other).feedback.create([sampleFeedback(id)])),
    );
    const seen: string[] = [];
    let isOver = false;
    const over = writing.then(() => void (isOver = true));
    for (let after: number | null = null, isLast = false; ;) {
      const page = await one.feedback.scan(
        { projectId: "team/games", condition: always, after, limit: 7 },
        turn,
      );
      seen.push(...page.items.map(({ id }) => id));
      after = page.last ?? after;
      if (page.hasMore || page.last !== null) continue;
      if (isLast) break;
      isLast = isOver;
      await Promise.race([over, new Promise((resolve) => setImmediate(resolve))]);
    }
    assert.deepEqual(seen.toSorted(), ids.toSorted());
  });

  test("removes records and their histories, within their project", async (t) => {
    const { feedback } = await (await makeStorage(t))();
    const elsewhere = sampleFeedback("a", { projectId: "team/other" });
    await feedback.create([sampleFeedback("a"), sampleFeedback("b"), elsewhere]);
    const { id: _id, createdAt: _at, ...content } = sampleFeedback("a", { contentHash: "second" });
    await feedback.replace("team/games", "a", content, moment(1));
    await feedback.delete("team/games", ["a", "none"]);
    assert.equal(await feedback.find("team/games", "a"), null);
    assert.deepEqual((await feedback.history("team/games", "a", firstPage)).items, []);
    assert.deepEqual(await feedback.find("team/games", "b"), sampleFeedback("b"));
    assert.deepEqual(await feedback.find("team/other", "a"), elsewhere);
    // After the deletion, a new record can have the same id.
    const again = sampleFeedback("a", { contentHash: "third" });
    assert.deepEqual(await feedback.create([again]), [again]);
  });
}
