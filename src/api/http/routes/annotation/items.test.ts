import assert from "node:assert/strict";
import { test } from "node:test";
import {
  sampleCompletion,
  sampleContent,
  samplePrompt,
} from "../../../../store/database/contract/completion-store.ts";
import { storeModel } from "../../../../store/database/contract/storage-under-test.ts";
import { project, queueServer, toneQuestion } from "../../testing/queue-server.ts";

type Server = Awaited<ReturnType<typeof queueServer>>;

/**
 * Sends a request that may be refused. Returns the status and, for a refusal, the path and message of the first fault.
 */
async function tried(
  server: Server,
  path: string,
  body: object,
): Promise<readonly [number, string?, string?]> {
  const answer = await server.ask("POST", path, { project_id: project, ...body });
  if (answer.statusCode === 200) return [200];
  const [fault] = answer.json().detail;
  return [answer.statusCode, fault.loc.join("."), fault.msg];
}

test("adds each call once, given by id or by a reference within the project", async () => {
  const server = await queueServer();
  const { post, newQueue } = server;
  const path = await newQueue({}, 0);
  const object = `weave:///${project}/object/answer:abc`;
  const display = [{ json_path: "inputs.question", label: "Question" }];
  const added = { call_ids: ["a b", `x:///${project}/call/c`, object, "a b"], display_fields: display };
  assert.deepEqual(await post(`${path}/items`, added), { added_count: 3, duplicates: 1 });
  assert.deepEqual(await post(`${path}/items`, { call_ids: ["d", "a b"] }), {
    added_count: 1,
    duplicates: 1,
  });
  const { items } = await post(`${path}/items/query`);
  assert.deepEqual(
    items.map((item) => [item.position_in_queue, item.call_id, item.vendor_ref, item.display_fields]),
    [
      [1, "a%20b", `weave:///${project}/call/a%20b`, display],
      [2, "c", `x:///${project}/call/c`, display],
      [3, "answer:abc", object, display],
      [4, "d", `weave:///${project}/call/d`, []],
    ],
  );
  const refusal = await tried(server, `${path}/items`, {
    call_ids: ["", "e", "weave:///acme/other/call/1", "x:///y"],
  });
  assert.deepEqual(refusal.slice(0, 2), [422, "body.call_ids.0"]);
  assert.equal((await post(`${path}/items/query`)).items.length, 4);
  await server.close();
});

test("refuses an enormous offset, and accepts a state that is named many times", async () => {
  const server = await queueServer({});
  const path = await server.newQueue({}, 2);
  const [status, where] = await tried(server, `${path}/items/query`, { offset: 1e300 });
  assert.deepEqual([status, where], [422, "body.offset"]);
  const states = Array<string>(40_000).fill("unstarted");
  const { items } = await server.post(`${path}/items/query`, { filter: { annotation_states: states } });
  assert.equal(items.length, 2);
  await server.close();
});

test("adds no item if a request would exceed the queue's limit", async () => {
  const server = await queueServer({ queueItems: 3 });
  const path = await server.newQueue({}, 2);
  const [status, , message] = await tried(server, `${path}/items`, { call_ids: ["3", "4"] });
  assert.equal(status, 413);
  assert.match(message ?? "", /more than 3 items/);
  assert.equal((await server.post(`${path}/items/query`)).items.length, 2);
  await server.close();
});

const states = ["unstarted", "in_progress", "completed", "skipped"] as const;

test("allows the same state changes as Weave, from every state to every state", async () => {
  const server = await queueServer();
  const allowed: Readonly<Record<string, readonly string[]>> = {
    unstarted: ["unstarted", "in_progress", "completed", "skipped"],
    in_progress: ["in_progress", "completed", "skipped"],
    completed: ["completed"],
    skipped: ["skipped"],
  };
  for (const from of states)
    for (const to of states) {
      const path = await server.newQueue({}, 1);
      const { items } = await server.post(`${path}/items/query`);
      const progress = `${path}/items/${items[0]?.id}/progress`;
      if (from !== "unstarted") await server.post(progress, { annotation_state: from });
      const isAllowed = (allowed[from] ?? []).includes(to);
      const [status, place, message] = await tried(server, progress, { annotation_state: to });
      assert.equal(status, isAllowed ? 200 : 400, `${from} to ${to}: ${message}`);
      if (!isAllowed) assert.equal(place, "body.annotation_state");
      const after = (await server.post(`${path}/items/query`)).items[0];
      assert.equal(after?.annotation_state, isAllowed ? to : from);
      assert.equal(after.annotator_user_id, after.annotation_state === "unstarted" ? null : "member-owner");
    }
  await server.close();
});

test("holds a claimed item for its annotator until the hold expires", async () => {
  const server = await queueServer();
  const path = await server.newQueue({}, 2);
  const claim = (annotator: string, more: object = {}) =>
    server.post(`${path}/claim`, { annotator, ...more });
  const first = await claim("ann");
  assert.equal(first.item?.call_id, "1");
  assert.deepEqual(first.item?.annotations, [
    {
      annotator: "ann",
      annotation_state: "in_progress",
      held_until: "2026-11-21T12:10:00.000Z",
      updated_at: "2026-11-21T12:00:00.000Z",
    },
  ]);
  assert.deepEqual([first.annotator, first.remaining], ["ann", { open: 2, held: 0 }]);
  assert.equal((await claim("ann")).item?.call_id, "1");
  assert.equal((await claim("bob", { hold_seconds: 30 })).item?.call_id, "2");
  assert.deepEqual(await claim("cas"), {
    item: null,
    content: null,
    annotator: "cas",
    remaining: { open: 2, held: 2 },
  });
  await server.clock.advance(30_000);
  assert.equal((await claim("cas", { hold_seconds: 5 })).item?.call_id, "2");
  // The annotator's hold on the item has expired, but the answer is accepted, because the work is done.
  const item = (await server.post(`${path}/items/query`, { filter: { call_id: "2" } })).items[0];
  await server.post(`${path}/items/${item?.id}/answers`, { annotator: "bob", answers: { tone: "kind" } });
  await server.clock.advance(5000);
  assert.equal((await claim("cas")).item, null);
  await server.close();
});

test("gives the last item to one of two simultaneous claims", async () => {
  const server = await queueServer();
  for (let round = 0; round < 5; round++) {
    const path = await server.newQueue({}, 1);
    const claims = await Promise.all(
      ["ann", "bob"].map((annotator) => server.post(`${path}/claim`, { annotator })),
    );
    assert.equal(claims.filter(({ item }) => item === null).length, 1);
  }
  await server.close();
});

test("gives each item to exactly as many annotators as the queue asks for", async () => {
  const server = await queueServer();
  const path = await server.newQueue({ annotators_per_item: 2 }, 6);
  const done: string[] = [];
  const work = async (annotator: string): Promise<void> => {
    for (;;) {
      const { item } = await server.post(`${path}/claim`, { annotator });
      if (item === null) return;
      done.push(`${annotator} ${item.call_id}`);
      await server.post(`${path}/items/${item.id}/answers`, { annotator, answers: { tone: "kind" } });
    }
  };
  await Promise.all(["ann", "bob", "cas"].map(work));
  assert.equal(new Set(done).size, 12);
  for (const call of ["1", "2", "3", "4", "5", "6"])
    assert.equal(done.filter((one) => one.endsWith(` ${call}`)).length, 2, done.join(", "));
  const { stats } = await server.post("/annotation_queues/stats", { queue_ids: [path.split("/").at(-1)] });
  assert.deepEqual([stats[0]?.total_items, stats[0]?.completed_items], [6, 6]);
  await server.close();
});

test("stores answers as feedback on the item, and replaces them when the annotator answers again", async () => {
  const server = await queueServer();
  const spec = `weave:///${project}/object/quality:abc`;
  const remark = { name: "remark", text: "Why?", schema: { type: "string", maxLength: 20 }, optional: true };
  const path = await server.newQueue({ scorer_refs: [spec], questions: [toneQuestion, remark] }, 1);
  const item = await server.take(path, { annotator: "ann" });
  const answer = (answers: object, annotator = "ann") =>
    server.post(`${path}/items/${item.id}/answers`, { annotator, answers });
  const given = await answer({ quality: 4, tone: "kind", remark: "it is short" });
  assert.equal(given.item?.annotation_state, "completed");
  const about = {
    weave_ref: item.weave_ref,
    creator: "ann",
    vendor_user_id: "member-owner",
    queue_id: item.queue_id,
  };
  const shown = given.feedback.map((record) => ({
    type: record.feedback_type,
    payload: record.payload,
    annotation_ref: record.annotation_ref,
    ...Object.fromEntries(Object.keys(about).map((field) => [field, record[field]])),
  }));
  assert.deepEqual(shown, [
    { type: "wandb.annotation.quality", payload: { value: 4 }, annotation_ref: spec, ...about },
    { type: "annotation.tone", payload: { value: "kind" }, annotation_ref: null, ...about },
    { type: "annotation.remark", payload: { value: "it is short" }, annotation_ref: null, ...about },
  ]);
  const again = await answer({ quality: 4, tone: "rude" });
  assert.deepEqual(
    again.feedback.map((record) => [record.id, record.payload.value]),
    [
      [given.feedback[0]?.id, 4],
      [given.feedback[1]?.id, "rude"],
    ],
  );
  // Ann submits her first answers again. The server must not mistake this for a retry of her first request.
  await answer({ quality: 4, tone: "kind" });
  await answer({ quality: 1, tone: "rude" }, "bob");
  assert.deepEqual(await tonesOn(server, item.weave_ref), ["ann kind", "bob rude"]);
  await server.close();
});

/** Returns the stored answers to the question `tone`, each with its annotator, sorted. */
async function tonesOn(server: Server, reference: string): Promise<readonly string[]> {
  const query = { $expr: { $eq: [{ $getField: "weave_ref" }, { $literal: reference }] } };
  const { result } = await server.post("/feedback/query", { query });
  return result
    .filter((record) => record.feedback_type === "annotation.tone")
    .map((record) => [record.creator, record.payload.value].join(" "))
    .sort();
}

test("refuses invalid answers, naming each question, and stores nothing", async () => {
  const server = await queueServer();
  const questions = [
    toneQuestion,
    { name: "stars", schema: { type: "integer", minimum: 1, maximum: 5 } },
    { name: "score", schema: { type: "number" } },
    { name: "true", schema: { type: "boolean" } },
    { name: "why", schema: { type: "string", maxLength: 3 } },
  ];
  const path = await server.newQueue({ questions }, 1);
  const item = await server.take(path);
  const right = { tone: "kind", stars: 5, score: 0.5, true: false, why: "👍👍👍" };
  for (const [name, value, message] of [
    ["tone", "neutral", /must be one of "kind", "rude"/],
    ["stars", 6, /a whole number of at least 1 and of at most 5/],
    ["stars", 1.5, /a whole number/],
    ["score", "1", /must be a number/],
    ["true", "yes", /true or false/],
    ["why", "long", /has 4 characters; the limit is 3/],
    ["why", "", /not empty/],
    ["other", 1, /asks no question "other"/],
  ] as const) {
    const answers = { ...right, [name]: value };
    const [status, place, why] = await tried(server, `${path}/items/${item.id}/answers`, { answers });
    assert.deepEqual([status, place], [422, `body.answers.${name}`]);
    assert.match(why ?? "", message);
  }
  const { tone: _tone, ...withoutTone } = right;
  const missing = await tried(server, `${path}/items/${item.id}/answers`, { answers: withoutTone });
  assert.deepEqual(missing.slice(0, 2), [422, "body.answers.tone"]);
  assert.deepEqual(await tonesOn(server, item.weave_ref), []);
  await server.post(`${path}/items/${item.id}/answers`, { answers: right });
  assert.deepEqual(await tonesOn(server, item.weave_ref), ["member-owner kind"]);
  await server.close();
});

test("reopens answered or skipped items, and releases held ones", async () => {
  const server = await queueServer();
  const path = await server.newQueue({}, 1);
  const item = await server.take(path);
  const at = `${path}/items/${item.id}`;
  const stateAfter = async (action: string, body: object = {}): Promise<string | undefined> =>
    (await server.post(`${at}/${action}`, body)).item?.annotation_state;
  await server.post(`${at}/answers`, { answers: { tone: "kind" } });
  assert.equal(await stateAfter("reopen"), "in_progress");
  assert.deepEqual(await tonesOn(server, item.weave_ref), []);
  assert.equal(await stateAfter("progress", { annotation_state: "skipped" }), "skipped");
  assert.equal(await stateAfter("reopen", { hold_seconds: 10 }), "in_progress");
  assert.equal((await server.post(`${path}/claim`, { annotator: "bob" })).item, null);
  assert.equal(await stateAfter("release"), "unstarted");
  assert.equal(await stateAfter("release"), "unstarted");
  assert.equal((await server.take(path, { annotator: "bob" })).id, item.id);
  await server.post(`${at}/answers`, { annotator: "bob", answers: { tone: "rude" } });
  const [status, , message] = await tried(server, `${at}/release`, { annotator: "bob" });
  assert.equal(status, 400);
  assert.match(message ?? "", /is completed for this annotator and cannot be made unstarted; reopen it/);
  await server.close();
});

test("finds items by their properties and by an annotator's state", async () => {
  const server = await queueServer();
  const path = await server.newQueue({}, 3);
  const item = await server.take(path, { annotator: "ann" });
  await server.post(`${path}/items/${item.id}/answers`, { annotator: "ann", answers: { tone: "kind" } });
  const calls = async (query: object): Promise<readonly string[]> =>
    (await server.post(`${path}/items/query`, query)).items.map((one) => one.call_id);
  assert.deepEqual(await calls({ filter: { annotation_states: ["completed"] } }), ["1"]);
  assert.deepEqual(await calls({ filter: { annotation_states: ["unstarted"] } }), ["2", "3"]);
  assert.deepEqual(await calls({ filter: { annotation_states: ["unstarted"] }, annotator: "bob" }), [
    "1",
    "2",
    "3",
  ]);
  assert.deepEqual(await calls({ filter: { id: item.id, added_by: "member-owner" } }), ["1"]);
  assert.deepEqual(await calls({ sort_by: [{ field: "position_in_queue", direction: "desc" }], limit: 2 }), [
    "3",
    "2",
  ]);
  const without = await server.post(`${path}/items/query`, { include_position: false, limit: 1 });
  assert.equal(without.items[0]?.position_in_queue, null);
  const [status, place] = await tried(server, `${path}/items/query`, { filter: { call_op_name: "f" } });
  assert.deepEqual([status, place], [400, "body.filter.call_op_name"]);
  await server.close();
});

test("answers 404 for unknown items and queues, and refuses an annotator's name that is not a text", async () => {
  const server = await queueServer();
  const path = await server.newQueue({}, 1);
  const item = await server.take(path);
  const other = await server.newQueue({}, 0);
  for (const action of ["progress", "answers", "reopen", "release"]) {
    const body = { annotation_state: "completed", answers: { tone: "kind" } };
    for (const url of [`${path}/items/none/${action}`, `${other}/items/${item.id}/${action}`])
      assert.equal((await tried(server, url, body))[0], 404, url);
    assert.equal((await tried(server, `/annotation_queues/none/items/${item.id}/${action}`, body))[0], 404);
  }
  const refusal = await tried(server, `${path}/claim`, { annotator: "a\0" });
  assert.deepEqual(refusal.slice(0, 2), [422, "body.annotator"]);
  await server.close();
});

const byType = (type: string): object => ({
  $expr: { $eq: [{ $getField: "feedback_type" }, { $literal: type }] },
});

test("adds the calls that feedback matching a query is about, each once, only those of the project", async () => {
  const server = await queueServer();
  const path = await server.newQueue({}, 0);
  const reference = (call: string, of = project): string => `weave:///${of}/call/${call}`;
  for (const [weave_ref, feedback_type] of [
    [reference("1"), "good"],
    [reference("2"), "bad"],
    [reference("3"), "good"],
    [reference("1"), "good"],
    [reference("4", "acme/other"), "good"],
  ])
    await server.post("/feedback/create", { weave_ref, feedback_type, payload: {} });
  const query = { feedback_query: byType("good"), call_ids: ["3"] };
  assert.deepEqual(await server.post(`${path}/items`, query), { added_count: 2, duplicates: 1 });
  const { items } = await server.post(`${path}/items/query`);
  assert.deepEqual(
    items.map((item) => item.weave_ref),
    [reference("3"), reference("1")],
  );
  const wrong = await tried(server, `${path}/items`, { feedback_query: { $expr: { $like: [] } } });
  assert.deepEqual([wrong[0], wrong[1]?.split(".").slice(0, 2).join(".")], [422, "body.feedback_query"]);
  assert.deepEqual((await tried(server, `${path}/items`, {})).slice(0, 2), [422, "body.call_ids"]);
  await server.close();
});

test("adds each choice of the recorded completions that match a filter, and shows their conversations to the annotator", async () => {
  const server = await queueServer();
  await storeModel(server.models, "m");
  const modelId = "m";
  for (const [index, requestId] of ["old", "new"].entries()) {
    const key = { projectId: project, requestId, modelId };
    await server.completions.add([
      sampleCompletion(requestId, {
        ...key,
        endedAt: new Date(index * 1000),
        content: sampleContent({ prompt: samplePrompt("Be brief.", "Hi") }),
      }),
    ]);
  }
  await server.completions.add([
    sampleCompletion("one", {
      projectId: project,
      modelId,
      endedAt: new Date(0),
      finishReasons: ["stop"],
      content: sampleContent({ choices: sampleContent().choices.slice(0, 1) }),
    }),
  ]);
  const path = await server.newQueue({}, 0);
  const recorded = { completions: { ended_from: "1970-01-01T00:00:01Z" } };
  assert.deepEqual(await server.post(`${path}/items`, recorded), { added_count: 2, duplicates: 0 });
  assert.deepEqual(await server.post(`${path}/items`, { completions: {} }), {
    added_count: 3,
    duplicates: 2,
  });
  const choicesOf = (id: string) => [0, 1].map((index) => `${id}/attr/choices/index/${index}`);
  const added = (await server.post(`${path}/items/query`)).items;
  assert.deepEqual(
    added.map((item) => item.vendor_ref.replace(`hone:///${project}/call/`, "")),
    [...choicesOf("new"), "one", ...choicesOf("old")],
  );
  const claimed = await server.post(`${path}/claim`);
  assert.equal(claimed.item?.vendor_ref, `hone:///${project}/call/new/attr/choices/index/0`);
  assert.deepEqual(claimed.content?.messages, [
    { role: "system", text: "Be brief." },
    { role: "user", text: "Hi" },
  ]);
  assert.equal(claimed.content.answers.length, 1);
  const other = await server.newQueue({}, 1);
  assert.equal((await server.post(`${other}/claim`)).content, null);
  const choices = [0, 1].map((index) => `hone:///${project}/call/new/attr/choices/index/${index}`);
  await server.post(`${other}/items`, {
    call_ids: ["new", ...choices, `hone:///${project}/call/unknown`],
  });
  const { items } = await server.post(`${other}/items/query`, { include_beginnings: true });
  const { promptText, answerText } = sampleCompletion("new");
  const [, second] = sampleContent().choices;
  assert.deepEqual(
    items.map(({ prompt, answer }) => [prompt, answer]),
    [
      [null, null],
      [promptText, answerText],
      [promptText, answerText],
      [promptText, second?.text],
      [null, null],
    ],
  );
  assert.equal((await server.post(`${other}/items/query`)).items[1]?.prompt, null);
  await server.close();
});

test("computes agreement from all feedback that names the queue, regardless of its author", async () => {
  const server = await queueServer();
  const remark = { name: "remark", schema: { type: "string" }, optional: true };
  const path = await server.newQueue({ annotators_per_item: 2, questions: [toneQuestion, remark] }, 4);
  const agreement = async (): Promise<readonly unknown[]> =>
    (await server.ask("GET", `${path}/agreement?project_id=${project}`)).json<{ agreement: unknown[] }>()
      .agreement;
  const tone = { question: "tone", feedback_type: "annotation.tone" };
  const nobody = { items: 0, annotators: 0, percent_agreement: null, kappa: null, statistic: null };
  const none = "no item was answered by two people";
  assert.deepEqual(await agreement(), [
    { ...tone, ...nobody, reason: none },
    { question: "remark", feedback_type: "annotation.remark", ...nobody, reason: none },
  ]);
  const { items } = await server.post(`${path}/items/query`);
  const answers = { ann: ["kind", "rude", "kind", "rude"], bob: ["kind", "rude", "rude", "rude"] };
  for (const [annotator, tones] of Object.entries(answers))
    for (const [index, value] of tones.entries()) {
      const answer = { annotator, answers: { tone: value, remark: "so" } };
      await server.post(`${path}/items/${items[index]?.id}/answers`, answer);
    }
  // Cohen's kappa: the observed agreement is 3/4, the expected one 1/2 * 1/4 + 1/2 * 3/4.
  const counts = { items: 4, annotators: 2 };
  const [first, second] = await agreement();
  assert.deepEqual(first, {
    ...tone,
    ...counts,
    percent_agreement: 75,
    kappa: 0.5,
    statistic: "cohen",
    reason: null,
  });
  assert.deepEqual(second, {
    question: "remark",
    feedback_type: "annotation.remark",
    ...counts,
    percent_agreement: 100,
    kappa: null,
    statistic: null,
    reason: "answers are free texts, and not categories",
  });
  // The client of a third annotator creates two feedback records directly, instead of an answer to an item. Only the
  // newest record counts.
  for (const value of ["kind", "rude"])
    await server.post("/feedback/create", {
      weave_ref: items[0]?.weave_ref,
      feedback_type: "annotation.tone",
      payload: { value },
      queue_id: items[0]?.queue_id,
      creator: "cas",
    });
  const [third] = await agreement();
  // On the four items, the fraction of annotator pairs that agree is 1/3, 1, 0 and 1. The fraction of the answer `kind`
  // is 2/3, 0, 1/2 and 0.
  const kindPart = (2 / 3 + 0 + 1 / 2 + 0) / 4;
  const expected = kindPart ** 2 + (1 - kindPart) ** 2;
  const observed = (1 / 3 + 1 + 0 + 1) / 4;
  const { kappa, ...rest } = third as { readonly kappa: number };
  assert.equal(kappa.toFixed(9), ((observed - expected) / (1 - expected)).toFixed(9));
  assert.deepEqual(rest, {
    ...tone,
    items: 4,
    annotators: 3,
    percent_agreement: observed * 100,
    statistic: "fleiss",
    reason: null,
  });
  await server.close();
});
