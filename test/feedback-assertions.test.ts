// Repeats over HTTP the assertions about feedback that the established trace server tests. Hone's rules differ in four
// places: invalid fields get 422, a replacement keeps the id, a missing record cannot be replaced, and a retry adds
// nothing.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { keys } from "../src/api/http/testing/fake-server.ts";
import { queueServer, toneQuestion } from "../src/api/http/testing/queue-server.ts";

type Body = Readonly<Record<string, unknown>>;
interface Answer extends Body {
  readonly id: string;
  readonly payload: Body;
  readonly res: readonly Answer[];
  readonly result: readonly Answer[];
  readonly total_count: number;
  readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[];
}

const project = "acme/asserted";
const call = `weave:///${project}/call/0192d3a4-0000-7000-8000-000000000000`;
const object = (name: string) => `weave:///${project}/object/${name}:digest`;
const op = (name: string) => `weave:///${project}/op/${name}:digest`;
const record = { project_id: project, weave_ref: call, feedback_type: "t", payload: { a: 1 } };

const server = await queueServer();
after(() => server.close());

async function ask(path: string, body: object, key: string = keys.member) {
  const answer = await server.ask("POST", path, body, key);
  return { status: answer.statusCode, body: answer.json<Answer>() };
}

const create = (changes: object) => ask("/feedback/create", { ...record, ...changes });

/** Returns the records of a project. */
async function stored(projectId: string): Promise<readonly Answer[]> {
  return (await ask("/feedback/query", { project_id: projectId })).body.result;
}

/** Asserts that a record is refused because of exactly these fields. */
async function refuses(changes: object, ...fields: readonly string[]): Promise<void> {
  const { status, body } = await create(changes);
  assert.equal(status, 422, JSON.stringify(changes).slice(0, 200));
  assert.deepEqual(
    body.detail.map(({ loc }) => loc.join(".")),
    fields.map((field) => `body.${field}`),
  );
}

async function takes(changes: object): Promise<Answer> {
  const { status, body } = await create(changes);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test("a reaction is returned with its alias and the emoji without skin tone; two emoji or none are refused", async () => {
  const feedback_type = "wandb.reaction.1";
  const { payload } = await takes({ feedback_type, payload: { emoji: "👍🏽" } });
  assert.deepEqual(payload, {
    emoji: "👍🏽",
    alias: ":thumbs_up_medium_skin_tone:",
    detoned: "👍",
    detoned_alias: ":thumbs_up:",
  });
  for (const emoji of ["👍👍", "", "a", ":thumbs_up:"])
    await refuses({ feedback_type, payload: { emoji } }, "payload.emoji");
});

test("a note may have 1 to 1,024 characters, and a payload up to a mebibyte", async () => {
  const note = (text: string) => ({ feedback_type: "wandb.note.1", payload: { note: text } });
  for (const length of [0, 1025]) await refuses(note("é".repeat(length)), "payload.note");
  for (const length of [1, 1024]) await takes(note("👍".repeat(length)));
  await refuses({ payload: { text: "x".repeat(2 << 20) } }, "payload");
  await takes({ payload: { text: "x".repeat((1 << 20) - 100) } });
});

test("keeps a caller's id, otherwise creates a UUID of version 7; null counts as absent in every field", async () => {
  assert.equal((await takes({ id: "a caller's own" })).id, "a caller's own");
  const fields = ["id", "creator", "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id"];
  const nothing = Object.fromEntries([...fields, "wb_user_id"].map((field) => [field, null]));
  // A record as the Python client sends it, in which the fields for agents' scorers are present but empty.
  const scorers = { scorer_tags: [], scorer_ratings: {}, span_agent_name: "", span_status_code: "UNSET" };
  const { id, wb_user_id: author } = await takes({ ...nothing, ...scorers });
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(author, "member-owner");
});

test("an annotation must name its spec and have a value", async () => {
  const annotation = {
    feedback_type: "wandb.annotation.quality",
    annotation_ref: object("quality"),
    payload: { value: null },
  };
  await takes(annotation);
  await refuses({ ...annotation, annotation_ref: undefined }, "annotation_ref");
  await refuses({ ...annotation, annotation_ref: object("other") }, "annotation_ref");
  await refuses({ ...annotation, annotation_ref: call }, "annotation_ref");
  await refuses({ ...annotation, payload: { output: 1 } }, "payload.value");
  const note = { feedback_type: "wandb.note.1", payload: { note: "n" } };
  await refuses({ ...note, annotation_ref: object("quality") }, "annotation_ref");
  await takes({ ...note, annotation_ref: "" });
});

test("a runnable must name its judge, the call if the judge is an op, and have an output", async () => {
  const runnable = {
    feedback_type: "wandb.runnable.judge",
    runnable_ref: op("judge"),
    call_ref: call,
    payload: { output: null },
  };
  await takes(runnable);
  await takes({ ...runnable, runnable_ref: object("judge"), call_ref: undefined });
  await refuses({ ...runnable, runnable_ref: undefined }, "runnable_ref");
  await refuses({ ...runnable, runnable_ref: op("other") }, "runnable_ref");
  await refuses({ ...runnable, call_ref: undefined }, "call_ref");
  await refuses({ ...runnable, payload: { value: 1 } }, "payload.output");
  const reaction = { feedback_type: "wandb.reaction.1", payload: { emoji: "👍" } };
  const references = { runnable_ref: op("judge"), call_ref: call, trigger_ref: object("t") };
  await refuses({ ...reaction, ...references }, "runnable_ref", "call_ref", "trigger_ref");
});

test("a queue that does not exist in the record's project is refused by its id, even if another project has it", async () => {
  const newQueue = async (projectId: string) => {
    const { status, body } = await ask("/annotation_queues", {
      project_id: projectId,
      name: "q",
      questions: [toneQuestion],
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body.id;
  };
  const [own, other] = [await newQueue(project), await newQueue("acme/elsewhere")];
  await takes({ queue_id: own });
  for (const id of [other, "none"]) {
    const { status, body } = await create({ queue_id: id });
    assert.equal(status, 400);
    assert.ok(body.detail[0].msg.startsWith(`Queue ${id} not found`), body.detail[0].msg);
  }
});

test("the answers to a batch are in its order, and a batch is stored completely or not at all", async () => {
  const of = (projectId: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...record,
      project_id: projectId,
      id: `r${(index * 7919) % count}`,
      payload: { index },
    }));
  const send = (batch: readonly object[]) => ask("/feedback/batch/create", { batch });
  assert.deepEqual(await send([]), { status: 200, body: { res: [] } });
  for (const count of [100, 1000]) {
    const batch = of(`acme/batch-${count}`, count);
    const { body } = await send(batch);
    assert.deepEqual(
      body.res.map(({ id, payload }) => ({ id, payload })),
      batch.map(({ id, payload }) => ({ id, payload })),
    );
    // A client that got no answer resends the batch.
    assert.deepEqual((await send(batch)).body.res, body.res);
    const { body: found } = await ask("/feedback/query", { project_id: `acme/batch-${count}`, limit: 0 });
    assert.equal(found.total_count, count);
  }
  const bad = of("acme/batch-bad", 101).map((item, index) =>
    index === 50 ? { ...item, feedback_type: "wandb.note.1" } : item,
  );
  const refused = await send(bad);
  assert.equal(refused.status, 422);
  assert.deepEqual(refused.body.detail[0].loc, ["body", "batch", "50", "payload", "note"]);
  assert.deepEqual(await stored("acme/batch-bad"), []);
});

test("a replacement takes the place of the old record, and a refused one changes nothing", async () => {
  const own = { ...record, project_id: "acme/replaced" };
  const { body: first } = await ask("/feedback/create", own);
  const replace = (changes: object) =>
    ask("/feedback/replace", { ...own, feedback_id: first.id, ...changes });
  const payloads = async () => (await stored("acme/replaced")).map(({ id, payload }) => [id, payload]);
  assert.equal((await replace({ feedback_type: "wandb.note.1" })).status, 422);
  assert.equal((await replace({ feedback_id: "none" })).status, 404);
  assert.equal((await replace({ feedback_id: undefined })).status, 422);
  assert.deepEqual(await payloads(), [[first.id, { a: 1 }]]);
  assert.equal((await replace({ payload: { a: 2 } })).body.id, first.id);
  assert.deepEqual(await payloads(), [[first.id, { a: 2 }]]);
});

test("a wrong key gets 401, another entity's project 403, and a missing field is named", async () => {
  const asked = async (changes: object, key?: string) =>
    (await ask("/feedback/create", { ...record, ...changes }, key)).status;
  assert.equal(await asked({}, "hone_wrong"), 401);
  assert.equal(await asked({ project_id: "others/games" }), 403);
  for (const field of ["project_id", "feedback_type", "payload"])
    await refuses({ [field]: undefined }, field);
  await refuses({ weave_ref: undefined }, "vendor_ref");
  await refuses({ payload: [1] }, "payload");
});
