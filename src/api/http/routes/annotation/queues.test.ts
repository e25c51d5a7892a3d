import assert from "node:assert/strict";
import { test } from "node:test";
import { keys } from "../../testing/fake-server.ts";
import { project, queueServer, toneQuestion } from "../../testing/queue-server.ts";

const spec = "weave:///acme/games/object/quality:abc";

test("creates, reads, changes and deletes a queue, but keeps the feedback given in it", async () => {
  const { ask, post, newQueue, clock, close } = await queueServer();
  const path = await newQueue({ scorer_refs: [spec], wb_user_id: null, annotators_per_item: 2 }, 0);
  const url = `${path}?project_id=${project}`;
  const { queue } = (await ask("GET", url)).json();
  assert.deepEqual(queue, {
    id: path.split("/").at(-1),
    project_id: project,
    name: "tone",
    description: "",
    scorer_refs: [spec],
    questions: [{ ...toneQuestion, optional: false }],
    asked: [
      { ...asked, name: "quality", text: "quality", spec_ref: spec, schema: null, kind: "json" },
      { ...asked, ...toneQuestion, kind: "choice", choices: ["kind", "rude"] },
    ],
    annotators_per_item: 2,
    created_at: "2026-11-21T12:00:00.000Z",
    created_by: "member-owner",
    updated_at: "2026-11-21T12:00:00.000Z",
    deleted_at: null,
  });
  await clock.advance(1000);
  const changed = await ask("PUT", path, { project_id: project, name: "other", description: null });
  assert.deepEqual(changed.json().queue, { ...queue, name: "other", updated_at: "2026-11-21T12:00:01.000Z" });
  const deleted = await ask("DELETE", url);
  assert.equal(deleted.json().queue.deleted_at, "2026-11-21T12:00:01.000Z");
  for (const answer of [
    await ask("GET", url),
    await ask("PUT", path, { project_id: project }),
    await ask("DELETE", url),
  ])
    assert.equal(answer.statusCode, 404, answer.body);
  assert.deepEqual(await post("/annotation_queues/stats", { queue_ids: [queue.id] }), { stats: [] });
  const inBody = await newQueue({}, 0);
  assert.equal((await ask("DELETE", inBody, { project_id: project })).statusCode, 200);
  await close();
});

const asked = {
  optional: false,
  spec_ref: null,
  choices: null,
  minimum: null,
  maximum: null,
  max_length: null,
};

test("lists queues, one per line, filtered by part of the name, sorted and in slices", async () => {
  const { ask, newQueue, clock, close } = await queueServer();
  for (const name of ["Tone of voice", "length", "undertone"]) {
    await newQueue({ name }, 0);
    await clock.advance(1000);
  }
  const listed = async (query: object): Promise<readonly string[]> => {
    const answer = await ask("POST", "/annotation_queues/query", { project_id: project, ...query });
    assert.match(String(answer.headers["content-type"]), /^application\/jsonl/);
    return answer.body
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line).name);
  };
  assert.deepEqual(await listed({}), ["Tone of voice", "length", "undertone"]);
  assert.deepEqual(await listed({ name: "TONE" }), ["Tone of voice", "undertone"]);
  const newestFirst = [{ field: "created_at", direction: "desc" }];
  assert.deepEqual(await listed({ sort_by: newestFirst, limit: 2 }), ["undertone", "length"]);
  assert.deepEqual(await listed({ sort_by: newestFirst, limit: 2, offset: 2 }), ["Tone of voice"]);
  await close();
});

test("refuses an invalid queue with the path and the cure", async () => {
  const { ask, close } = await queueServer({ questions: 3 });
  const refused = async (queue: object): Promise<readonly [string, string]> => {
    const answer = await ask("POST", "/annotation_queues", { project_id: project, name: "q", ...queue });
    assert.equal(answer.statusCode, 422, answer.body);
    const [fault] = answer.json().detail;
    return [fault.loc.join("."), fault.msg];
  };
  const question = (schema: object, name = "q"): object => ({ questions: [{ name, schema }] });
  for (const [queue, place, message] of [
    [{ name: "" }, "body.name", /empty/],
    [{ name: "x".repeat(257) }, "body.name", /257 characters; the limit is 256/],
    [{ name: "a\0" }, "body.name", /no text|not text/],
    [{ scorer_refs: ["weave:///acme/games/call/1"] }, "body.scorer_refs.0", /must be of an object/],
    [{ scorer_refs: ["quality"] }, "body.scorer_refs.0", /not a reference/],
    [question({}), "body.questions.0.schema", /"enum"/],
    [question({ enum: [] }), "body.questions.0.schema", /1 to 100/],
    [question({ enum: ["a", "a"] }), "body.questions.0.schema", /twice/],
    [question({ enum: [["a"]] }), "body.questions.0.schema", /every value/],
    [question({ type: "integer", minimum: 3, maximum: 1 }), "body.questions.0.schema", /no number/],
    [question({ type: "string", pattern: "a" }), "body.questions.0.schema", /"pattern" is not known/],
    [question({ type: "string", maxLength: 0 }), "body.questions.0.schema", /at least 1/],
    [question({ type: "boolean" }, ""), "body.questions.0.name", /empty/],
    [{ questions: [toneQuestion, toneQuestion] }, "body.questions.1.name", /unique name/],
    [
      { scorer_refs: [spec], questions: [{ ...toneQuestion, name: "quality" }] },
      "body.questions.0.name",
      /unique name/,
    ],
    [
      { questions: ["a", "b", "c", "d"].map((name) => ({ ...toneQuestion, name })) },
      "body.questions",
      /4 questions; the limit is 3/,
    ],
    [{ annotators_per_item: 0 }, "body.annotators_per_item", /1/],
  ] as const) {
    const [where, why] = await refused(queue);
    assert.equal(where, place, JSON.stringify(queue));
    assert.match(why, message);
  }
  await close();
});

test("checks a change together with the unchanged fields, because the names of all questions must differ", async () => {
  const { ask, newQueue, close } = await queueServer();
  const path = await newQueue({}, 0);
  const answer = await ask("PUT", path, {
    project_id: project,
    scorer_refs: ["weave:///acme/games/object/tone:abc"],
  });
  assert.equal(answer.statusCode, 422, answer.body);
  assert.deepEqual(answer.json().detail[0].loc, ["body", "questions", "0", "name"]);
  await close();
});

test("hides a queue from other entities, but not from administrators", async () => {
  const { ask, newQueue, close } = await queueServer();
  const path = await newQueue();
  const body = { project_id: project };
  for (const [method, url, sent] of [
    ["GET", `${path}?project_id=${project}`, undefined],
    ["PUT", path, { ...body, name: "mine" }],
    ["DELETE", `${path}?project_id=${project}`, undefined],
    ["POST", `${path}/claim`, body],
    ["POST", `${path}/items/query`, body],
    ["POST", "/annotation_queues/query", body],
    ["POST", "/annotation_queues/stats", { ...body, queue_ids: [] }],
  ] as const) {
    assert.equal((await ask(method, url, sent, keys.other)).statusCode, 403, `${method} ${url}`);
    // In a project of the caller's own entity, no queue has this id.
    const own = { ...sent, project_id: "rival/games" };
    const inOwn = await ask(method, url.replace(project, "rival/games"), sent && own, keys.other);
    const isList = url.endsWith("/annotation_queues/query") || url.endsWith("/stats");
    assert.equal(inOwn.statusCode, isList ? 200 : 404, `${method} ${url}`);
  }
  assert.equal((await ask("GET", `${path}?project_id=${project}`, undefined, keys.admin)).statusCode, 200);
  const wrong = await ask("GET", `${path}?project_id=nothing`);
  assert.deepEqual([wrong.statusCode, wrong.json().detail[0].loc], [422, ["query", "project_id"]]);
  await close();
});

test("checks that feedback names an existing queue of its project, if the project has queues", async () => {
  const { ask, newQueue, close } = await queueServer();
  const record = {
    project_id: project,
    weave_ref: "weave:///acme/games/call/1",
    feedback_type: "t",
    payload: {},
  };
  const create = (queueId: string, more: object = {}) =>
    ask("POST", "/feedback/create", { ...record, queue_id: queueId, ...more });
  assert.equal((await create("elsewhere")).statusCode, 200);
  const path = await newQueue({}, 0);
  const id = path.split("/").at(-1) ?? "";
  assert.equal((await create(id)).statusCode, 200);
  const unknown = await create("elsewhere");
  assert.deepEqual([unknown.statusCode, unknown.json().detail[0].loc], [400, ["body", "queue_id"]]);
  assert.match(unknown.json().detail[0].msg, /^Queue elsewhere not found or has been deleted/);
  // The other project has no queues, so feedback in it may name any queue id.
  assert.equal((await create("elsewhere", { project_id: "acme/other" })).statusCode, 200);
  const batch = [record, { ...record, queue_id: id }, { ...record, queue_id: "gone" }];
  const refused = await ask("POST", "/feedback/batch/create", { batch });
  assert.deepEqual(
    [refused.statusCode, refused.json().detail[0].loc],
    [400, ["body", "batch", "2", "queue_id"]],
  );
  await ask("DELETE", `${path}?project_id=${project}`);
  assert.equal((await create(id)).statusCode, 400);
  assert.equal((await create("elsewhere")).statusCode, 200);
  await close();
});
