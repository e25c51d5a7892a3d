// Checks that the client can call every operation of the API document, and that methods of groups such as `hone.queues`
// return what the document describes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiDocument } from "../../api/http/testing/api-document.ts";
import { sampleCompletion } from "../../store/database/contract/completion-store.ts";
import { fakeServer, keys, playJob } from "../../api/http/testing/fake-server.ts";
import { Hone } from "./hone.ts";
import { HoneError } from "./hone-error.ts";
import { fetchFrom } from "./testing/fake-fetch.ts";

async function drained<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("calls every operation of the API by its method and path", async () => {
  const server = await fakeServer();
  let sent = "";
  const fetch = fetchFrom(server, (method, path) => void (sent = `${method} ${path}`));
  const hone = new Hone({ baseUrl: "http://host", apiKey: keys.admin, fetch, retries: 0 });
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.ok(operations.length > 50);
  const id = "019b0000-0000-7000-8000-000000000000";
  const path = new Proxy<Record<string, string>>({}, { get: () => id });
  for (const operation of operations) {
    // Every operation accepts an input of this shape, but most operations refuse its content.
    const input = operation.startsWith("GET ") ? { path } : { path, body: {} };
    const answer = hone.call(operation as "POST /obj/delete", input as never);
    const refusal: unknown = await answer.catch((error: unknown) => error);
    const { status, code } = refusal instanceof HoneError ? refusal : { status: 200, code: "" };
    // Here the id in the path is the credential, and a wrong one.
    const isLink = operation.includes("{link_secret}");
    assert.equal(status === 401, isLink, `${operation} was answered ${status} ${code}`);
    assert.notEqual(status, 405, operation);
    assert.equal(sent, operation.replaceAll(/\{\w+\}/g, id));
  }
  await server.close();
});

test("has the listed calls in every group", async () => {
  const server = await fakeServer();
  const fetch = fetchFrom(server);
  await callAll(new Hone({ baseUrl: "http://host", apiKey: keys.member, fetch, retries: 0 }), server);
  const admin = new Hone({ baseUrl: "http://host", apiKey: keys.admin, fetch, retries: 0 });
  await callKeys(admin);
  await callRetention(admin);
  assert.deepEqual(await drained(admin.server.logs()), []);
  await server.close();
});

/** Calls each function of each group once. */
async function callAll(hone: Hone, server: Awaited<ReturnType<typeof fakeServer>>): Promise<void> {
  const messages = [{ role: "user", content: "Hi" }];
  const chat = await hone.chat.create({ messages });
  assert.equal(chat.choices[0]?.message.content, "Hello");
  const chunks = await drained(hone.chat.stream({ messages }));
  assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "Hello");
  assert.equal((await hone.completions.create({ prompt: "Hi" })).choices[0]?.text, "Hello");
  assert.ok((await drained(hone.completions.stream({ prompt: "Hi" }))).length > 1);
  assert.equal((await hone.responses.create({ input: "Hi" })).status, "completed");
  assert.equal((await drained(hone.responses.stream({ input: "Hi" }))).at(-1)?.type, "response.completed");
  const asked = { messages: [{ role: "user" as const, content: "Hi" }], max_tokens: 9 };
  assert.equal((await hone.messages.create(asked)).stop_reason, "end_turn");
  assert.equal((await drained(hone.messages.stream(asked))).at(-1)?.type, "message_stop");
  assert.equal((await hone.messages.countTokens({ messages: asked.messages })).input_tokens, 2);
  assert.equal((await hone.embeddings.create({ input: ["Hi", "Ho"] })).data.length, 2);
  assert.deepEqual((await hone.texts.tokenize({ prompt: "Hi" })).tokens, [7, 9]);
  assert.equal((await hone.texts.detokenize({ tokens: [7, 9] })).prompt, "7 9");
  const constraint = { structured_outputs: { choice: ["yes", "no"] } };
  assert.equal((await hone.texts.checkConstraint(constraint)).served, true);

  const model = await hone.model("p/m", { base: "tiny" });
  assert.equal((await hone.models.list({ project: "p" }).all()).length, 1);
  assert.equal((await hone.models.get(model.id)).name, "m");
  assert.deepEqual((await hone.models.acceptBase(model.id)).accepted_steps, []);
  assert.deepEqual(await hone.served.bases(), ["tiny", "small"]);
  assert.ok((await hone.served.list()).some(({ id }) => id === "tiny"));
  assert.equal((await hone.served.get(model.name)).parent, "tiny");

  const group = { trajectories: [{ messages_and_choices: [...messages, ...chat.choices], reward: 1 }] };
  assert.equal((await model.log([group], { split: "train" })).metrics["train/reward"], 1);
  assert.equal((await model.trajectories().all())[0]?.reward, 1);
  assert.equal((await hone.trajectories.logs(model.id).all())[0]?.split, "train");
  assert.equal((await hone.trajectories.metrics(model.id).all())[0]?.metrics["train/reward"], 1);
  assert.equal((await hone.trajectories.outlines(model.id).all())[0]?.reward, 1);
  assert.equal((await hone.trajectories.counts(model.id))[0]?.count, 1);
  assert.equal((await hone.trajectories.get(model.id, "1")).reward, 1);
  assert.ok((await drained(await hone.trajectories.export(model.id, { format: "jsonl" }))).length > 0);

  const recorded = sampleCompletion("recorded", { modelId: model.id, projectId: "acme/p" });
  assert.equal(await server.completions.add([recorded]), 1);
  assert.equal((await hone.recordings.list({ feedback: "none" }).all())[0]?.request_id, "recorded");
  assert.equal((await hone.recordings.get("recorded")).choices.length, 2);
  assert.equal((await hone.recordings.delete("recorded", { project: "acme/p" })).deleted, true);

  const jobId = await model.train([group], { learning_rate: 1e-4 });
  await playJob(server, { step: 1, events: [{ type: "training_ended", data: {} }] });
  assert.equal((await hone.jobs.wait(jobId)).result_step, 1);
  assert.equal((await hone.jobs.list({ model_id: model.id }).all()).length, 1);
  assert.equal((await hone.jobs.events(jobId).all()).at(-1)?.type, "training_ended");
  await hone.jobs.replay(jobId).catch(onlyConflicts);
  await hone.jobs.retry(jobId).catch(onlyConflicts);
  assert.equal((await hone.jobs.cancel(jobId)).state, "succeeded");
  const lesson = { messages: [...messages, { role: "assistant", content: "Hello" }] };
  const lines = new Blob([`${JSON.stringify(lesson)}\n`]);
  const file = await hone.files.upload(lines, "lessons.jsonl");
  await hone.jobs.createSupervised({ model_id: model.id, training_data_url: file.id });
  await hone.jobs.createPreference({
    model_id: model.id,
    pairs: [{ prompt: messages, chosen: "Hello", rejected: "Go" }],
  });
  assert.equal((await hone.files.list().all())[0]?.id, file.id);
  assert.equal((await hone.files.get(file.id)).filename, "lessons.jsonl");
  assert.equal(Buffer.concat(await drained(await hone.files.content(file.id))).length, lines.size);
  assert.equal((await hone.files.delete(file.id)).deleted, true);

  assert.equal((await hone.checkpoints.import(model.id, new Blob([new Uint8Array(1024)]))).step, 2);
  assert.equal((await model.checkpoints().all()).length, 3);
  assert.equal((await hone.checkpoints.get(model.id, 1)).job_id, jobId);
  assert.equal((await hone.checkpoints.pin(model.id, 1)).pinned, true);
  assert.equal((await hone.checkpoints.unpin(model.id, 1)).pinned, false);
  assert.ok((await drained(await hone.checkpoints.export(model.id, 1, "peft"))).length > 0);
  assert.equal((await hone.checkpoints.delete(model.id, [2])).deleted_count, 1);

  const record = {
    project_id: "acme/p",
    vendor_ref: "weave:///acme/p/call/1",
    feedback_type: "vendor.reaction.1",
    payload: { emoji: "👍" },
  };
  const { id } = await hone.feedback.create(record);
  assert.equal((await hone.feedback.createBatch([record, record])).length, 2);
  assert.equal((await hone.feedback.replace({ ...record, feedback_id: id })).id, id);
  assert.equal((await hone.feedback.on("acme/p", record.vendor_ref).all()).length, 4);
  for (const [reference, count] of [
    ["hone:///acme/p/call/1", 4],
    ["hone:///acme/p/call/%31/", 4],
    ["hone:///acme/p/call/1/attr/choices/index/0", 0],
    ["hone:///acme/q/call/1", 0],
    ["hone:///acme/p/call/2", 0],
  ] as const)
    assert.equal((await hone.feedback.on("acme/p", reference).all()).length, count, reference);
  assert.deepEqual(
    (await hone.feedback.query({ project_id: "acme/p", fields: ["id"], limit: 3 }).all()).length,
    4,
  );
  assert.equal(await hone.feedback.count("acme/p"), 4);
  const exported: Uint8Array[] = [];
  for await (const piece of await hone.feedback.export({ project_id: "acme/p", fields: ["id"] }))
    exported.push(piece);
  assert.equal(Buffer.concat(exported).toString().split("\n").length, 5);
  assert.equal((await hone.feedback.stats({ project_id: "acme/p" })).sample.share, 1);
  await hone.feedback.delete("acme/p", id);
  const spec = { name: "quality", field_schema: { type: "integer" } };
  const published = { project_id: "acme/p", object_id: "quality", val: spec };
  const { digest } = await hone.objects.publish({ ...published, builtin_object_class: "AnnotationSpec" });
  const read = await hone.objects.get({ project_id: "acme/p", object_id: "quality", digest });
  assert.equal(read.base_object_class, "AnnotationSpec");
  assert.equal((await hone.objects.list({ project_id: "acme/p" })).length, 1);
  await hone.objects.deleteTraces("acme", "other");
  assert.equal(await hone.objects.delete({ project_id: "acme/p", object_id: "quality" }), 1);
  assert.deepEqual(await hone.feedback.history({ project_id: "acme/p", feedback_id: id }).all(), []);

  const terms = [{ kind: "reaction", rewards: { "👍": 1 } }] as const;
  const rule = await hone.rules.create({ project: "p", name: "thumbs", terms });
  const standing = { model_id: model.id };
  assert.equal(
    (await hone.rules.change(rule.id, { name: "thumbs", terms, standing })).state?.status,
    "collecting",
  );
  assert.equal((await hone.rules.pause(rule.id)).paused, true);
  assert.equal((await hone.rules.resume(rule.id)).paused, false);
  assert.equal((await hone.rules.list({ project: "p" }).all())[0]?.name, "thumbs");
  assert.equal((await hone.rules.get(rule.id)).id, rule.id);
  assert.equal((await hone.jobs.createFromFeedback({ model_id: model.id, rule_id: rule.id })).id, null);
  const preferred = { model_id: model.id, corrections: {} };
  assert.equal((await hone.jobs.createPreferenceFromFeedback(preferred)).id, null);
  assert.deepEqual(await hone.checkpoints.sources(model.id, 1).all(), []);
  assert.equal((await hone.rules.delete(rule.id)).deleted, true);
  await callQueues(hone);
  const webhook = await hone.webhooks.create({ url: "http://127.0.0.1:1/", events: ["feedback.created"] });
  assert.match(webhook.secret, /^whsec_/);
  assert.equal((await hone.webhooks.list().all())[0]?.id, webhook.id);
  assert.equal((await hone.webhooks.get(webhook.id)).enabled, true);
  assert.equal((await hone.webhooks.change(webhook.id, { records_max: 1 })).records_max, 1);
  assert.deepEqual(await hone.webhooks.deliveries(webhook.id).all(), []);
  assert.equal(
    (await hone.webhooks.replay(webhook.id, { failed_since: "2026-01-01T00:00:00Z" })).replayed,
    0,
  );
  assert.equal((await hone.webhooks.delete(webhook.id)).deleted, true);

  assert.equal((await hone.server.health()).status, "ok");
  assert.equal((await hone.server.check()).status, "ok");
  assert.equal((await hone.server.key()).role, "member");
  assert.equal(await hone.server.version(), "0.0.0");
  assert.equal(await hone.server.load(), 0);
  assert.match(await hone.server.metrics(), /^# HELP/);
  assert.equal((await hone.models.delete(model.id)).model_id, model.id);
}

async function callKeys({ keys: calls }: Hone): Promise<void> {
  const made = await calls.create({ name: "ci", scopes: ["read"] });
  assert.match(made.key, /^hone_/);
  assert.equal((await calls.list().all())[0]?.id, made.id);
  assert.deepEqual((await calls.get(made.id)).scopes, ["read"]);
  assert.equal((await calls.change(made.id, { scopes: null })).scopes, null);
  assert.notEqual((await calls.rotate(made.id, { grace_seconds: 0 })).key, made.key);
  assert.match((await calls.revoke(made.id)).revoked_at ?? "", /Z$/);
  assert.equal((await calls.changeLimits("acme", { queue_percent: 50 })).queue_percent, 50);
  assert.equal((await calls.limits("acme")).requests_per_minute, null);
  assert.deepEqual(await calls.usage({ key_id: made.id }).all(), []);
  const pieces = await drained(await calls.exportUsage({ from: "2999-01-01" }));
  assert.match(Buffer.concat(pieces).toString(), /^day,key_id,entity,model,requests,.*\r\n$/);
}

async function callRetention({ retention: calls }: Hone): Promise<void> {
  const { rules, removed } = await calls.get({ entity: "acme" });
  assert.deepEqual([rules.map(({ kind }) => kind).length, removed], [4, []]);
  const swept = await calls.sweep({ dry_run: true });
  assert.deepEqual(swept, { dry_run: true, removed: [], is_complete: true });
}

async function callQueues({ queues }: Hone): Promise<void> {
  const project = { project_id: "acme/p" };
  const queue_id = await queues.create({ ...project, name: "q" });
  const queue = { ...project, queue_id };
  assert.deepEqual(await queues.add(queue, { call_ids: ["1", "1"] }), { added_count: 1, duplicates: 1 });
  assert.equal((await queues.update(queue, { name: "r" })).name, "r");
  assert.equal((await queues.get(queue)).name, "r");
  assert.deepEqual(
    (await queues.list({ ...project, name: "R" }).all()).map(({ id }) => id),
    [queue_id],
  );
  const { item } = await queues.claim(queue, { annotator: "ann" });
  assert.equal((await queues.items(queue).all())[0]?.id, item?.id);
  const name = { ...queue, item_id: item?.id ?? "" };
  assert.equal((await queues.release(name, { annotator: "ann" })).annotation_state, "unstarted");
  assert.equal((await queues.progress(name, { annotation_state: "skipped" })).annotation_state, "skipped");
  assert.equal((await queues.reopen(name)).item?.annotation_state, "in_progress");
  assert.equal((await queues.answer(name, { answers: {} })).item.annotation_state, "completed");
  assert.equal((await queues.stats({ ...project, queue_ids: [queue_id] }))[0]?.completed_items, 1);
  assert.deepEqual(await queues.agreement(queue), []);
  assert.equal((await queues.delete(queue)).id, queue_id);
}

/** Ignores a conflict, because this job may be neither replayed nor retried. */
function onlyConflicts(error: unknown): void {
  assert.ok(error instanceof HoneError && error.code === "conflict", String(error));
}
