// Tests on every API that a trained model's answer is recorded with its exact tokens, before the client has the answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { NotFoundError } from "openai";
import { Hone } from "../src/apps/client/hone.ts";
import { call, serverOfFile, type RunningServer } from "./running-server.ts";

let openai: OpenAI;
let modelId = "";
const server = serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

const model = "recorded/agent";
const messages = [{ role: "user" as const, content: "tell me a story" }];

/** Registers the model if it does not exist yet. */
async function registered(): Promise<RunningServer> {
  const body = { project: "recorded", name: "agent", base_model: "hone-tiny", return_existing: true };
  const answer = await call(server(), "POST", "/v1/preview/models", { body });
  assert.equal(answer.status, 200);
  modelId = answer.body.id;
  return server();
}

async function recorded(requestId: string): Promise<any> {
  const { status, body } = await call(server(), "GET", `/v1/chat/completions/${requestId}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test("a model of a project with an Arabic name answers, and the header has the encoded reference", async () => {
  await registered();
  const created = await call(server(), "POST", "/v1/preview/models", {
    body: { project: "دعم", name: "وكيل", base_model: "hone-tiny" },
  });
  const { data: answer, response } = await openai.chat.completions
    .create({ model: created.body.id, messages, max_tokens: 2 })
    .withResponse();
  const reference = decodeURIComponent(response.headers.get("x-hone-call") ?? "");
  assert.equal(reference, `hone:///local/دعم/call/${answer.id.replace("chatcmpl-", "")}`);
  assert.equal((await recorded(answer.id)).reference, reference);
});

test("a chat is recorded exactly as answered, token for token, and the recording is available immediately", async () => {
  await registered();
  const { data: answer, response } = await openai.chat.completions
    .create({
      model,
      messages,
      max_tokens: 12,
      n: 2,
      temperature: 1,
      seed: 5,
      metadata: { topic: "stories" },
    })
    .withResponse();
  const id = answer.id.replace("chatcmpl-", "");
  const found = await recorded(answer.id);
  assert.equal(response.headers.get("x-hone-call"), found.reference);
  assert.equal(found.reference, `hone:///local/recorded/call/${id}`);
  assert.deepEqual(found.messages, messages);
  assert.deepEqual([found.model_id, found.step, found.metadata], [modelId, 0, { topic: "stories" }]);
  assert.deepEqual([found.sampling.temperature, found.sampling.seed], [1, 5]);
  for (const [index, choice] of answer.choices.entries()) {
    // Fields that only this server returns.
    const { token_ids: ids, prompt_token_ids: promptIds } = choice as unknown as {
      readonly token_ids: readonly number[];
      readonly prompt_token_ids: readonly number[];
    };
    const kept = found.choices[index];
    assert.deepEqual(kept.message, choice.message);
    assert.deepEqual(kept.logprobs, choice.logprobs);
    assert.deepEqual([kept.token_ids, kept.finish_reason], [ids, choice.finish_reason]);
    assert.deepEqual(found.prompt_token_ids, promptIds);
  }
});

test("a stream is recorded before it ends, and an identical request has the same prompt", async () => {
  await registered();
  const asked = { model, messages, max_tokens: 8, temperature: 0 } as const;
  const stream = await openai.chat.completions.create({ ...asked, stream: true });
  let [id, text] = ["", ""];
  for await (const chunk of stream) {
    id = chunk.id;
    text += chunk.choices[0]?.delta.content ?? "";
  }
  const streamed = await recorded(id);
  assert.equal(streamed.choices[0].message.content, text);
  const whole = await recorded((await openai.chat.completions.create(asked)).id);
  assert.equal(whole.prompt_hash, streamed.prompt_hash);
  assert.deepEqual(whole.choices[0].token_ids, streamed.choices[0].token_ids);
  assert.deepEqual(whole.choices[0].logprobs, streamed.choices[0].logprobs);
});

test("responses, messages and text completions are recorded with tokens and log-probabilities that they do not return", async () => {
  await registered();
  const bodies = [
    ["/v1/responses", { input: "tell me a story", max_output_tokens: 6 }],
    ["/v1/messages", { messages, max_tokens: 6 }],
    ["/v1/completions", { prompt: "Once upon a time", max_tokens: 6 }],
  ] as const;
  for (const [path, body] of bodies) {
    const requestId = `of${path.replaceAll("/", "-")}`;
    const headers = { "x-request-id": requestId };
    const sent = { body: { model, temperature: 0, ...body }, headers };
    assert.equal((await call(server(), "POST", path, sent)).status, 200);
    const {
      choices,
      prompt_token_ids: promptIds,
      messages: asked,
      prompt_text: text,
    } = await recorded(requestId);
    assert.ok(promptIds.length > 0, path);
    assert.equal(choices[0].token_ids.length, choices[0].logprobs.content.length, path);
    assert.deepEqual(
      [asked === null, text],
      path === "/v1/completions" ? [true, body.prompt] : [false, null],
    );
  }
});

test("does not record requests that opt out, or answers of a base model", async () => {
  await registered();
  for (const [path, body] of [
    ["/v1/chat/completions", { model, messages, store: false }],
    ["/v1/chat/completions", { model: "hone-tiny", messages }],
    ["/v1/responses", { model, input: "Hi", store: false }],
    ["/v1/messages", { model, messages, store: false }],
  ] as const) {
    const headers = { "x-request-id": "unrecorded" };
    const limits = path === "/v1/responses" ? { max_output_tokens: 4 } : { max_tokens: 4 };
    const answer = await call(server(), "POST", path, { body: { ...body, ...limits }, headers });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((await call(server(), "GET", "/v1/chat/completions/unrecorded")).status, 404, path);
  }
});

test("recordings can be filtered by feedback, and each lists its feedback", async () => {
  await registered();
  const { id } = await openai.chat.completions.create({ model, messages, max_tokens: 4 });
  const { reference } = await recorded(id);
  const record = {
    project_id: "local/recorded",
    weave_ref: `${reference.replace("hone:", "weave:")}/attr/choices/index/0`,
    feedback_type: "vendor.reaction.1",
    payload: { emoji: "👍" },
  };
  const given = await call(server(), "POST", "/feedback/create", { body: record, scheme: "Basic" });
  assert.equal(given.status, 200, JSON.stringify(given.body));
  const listed = async (query: string): Promise<readonly string[]> => {
    const { status, body } = await call(server(), "GET", `/v1/chat/completions?limit=100&${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map((one: { readonly id: string }) => one.id);
  };
  assert.deepEqual(await listed("feedback=any&project=local%2Frecorded"), [id]);
  assert.deepEqual(await listed("feedback=vendor.reaction.1&project=local%2Frecorded"), [id]);
  assert.deepEqual(await listed("feedback=vendor.note.1&project=local%2Frecorded"), []);
  assert.ok(!(await listed("feedback=none")).includes(id));
  assert.ok((await listed(`model=${model}:step0`)).includes(id));
  assert.deepEqual(await listed(`request_id=${id.replace("chatcmpl-", "")}`), [id]);
  assert.deepEqual(await listed("until=2020-01-01T00:00:00Z"), []);
  assert.deepEqual(
    (await recorded(id)).feedback.map((one: { readonly id: string }) => one.id),
    [given.body.id],
  );
  const path = `/v1/chat/completions/${id}`;
  assert.equal((await call(server(), "DELETE", path)).status, 200);
  assert.equal((await call(server(), "DELETE", path)).status, 404);
  assert.deepEqual(await listed("feedback=any&project=local%2Frecorded"), []);
});

test("OpenAI's client lists, reads and deletes stored chats with their messages", async () => {
  await registered();
  const body = { project: "recorded", name: "stored", base_model: "hone-tiny", return_existing: true };
  assert.equal((await call(server(), "POST", "/v1/preview/models", { body })).status, 200);
  const ids: string[] = [];
  for (const topic of ["a", "b", "a"]) {
    const asked = { model: "recorded/stored", messages, max_tokens: 3, store: true, metadata: { topic } };
    ids.push((await openai.chat.completions.create(asked)).id);
  }
  const stored = openai.chat.completions;
  const listed = async (query: Parameters<typeof stored.list>[0]): Promise<readonly string[]> => {
    const all: string[] = [];
    for await (const { id } of stored.list({ model: "recorded/stored", ...query })) all.push(id);
    return all;
  };
  assert.deepEqual(await listed({ limit: 2 }), ids);
  assert.deepEqual(await listed({ order: "desc" }), ids.toReversed());
  assert.deepEqual(await listed({ metadata: { topic: "a" }, limit: 1 }), [ids[0], ids[2]]);
  const hone = new Hone({ apiKey: server().apiKey, baseUrl: server().url });
  const ours = await hone.recordings.list({ metadata: { topic: "a" }, limit: 1 }).all();
  assert.deepEqual(
    ours.map(({ id }) => id),
    [ids[2], ids[0]],
  );
  const [first = ""] = ids;
  const found = await stored.retrieve(first);
  assert.equal(found.choices[0]?.message.content, (await recorded(first)).choices[0].message.content);
  assert.deepEqual("metadata" in found && found.metadata, { topic: "a" });
  const sent: unknown[] = [];
  for await (const { role, content } of stored.messages.list(first)) sent.push({ role, content });
  assert.deepEqual(sent, messages);
  assert.deepEqual(await stored.delete(first), {
    id: first,
    object: "chat.completion.deleted",
    deleted: true,
  });
  await assert.rejects(stored.retrieve(first), NotFoundError);
  const isMisplaced = { status: 422, message: /last_id/ };
  await assert.rejects(
    async () => stored.messages.list(ids[1] ?? "", { after: "chatcmpl-1-0" }),
    isMisplaced,
  );
  await assert.rejects(async () => stored.list({ after: first }), isMisplaced);
  assert.deepEqual(await listed({}), ids.slice(1));
});

test("a page continues after the number of its last item, even if that item is deleted meanwhile", async () => {
  await registered();
  const path = "/v1/chat/completions?model=recorded%2Fagent&limit=1";
  const [first, second] = await Promise.all(
    [1, 2].map(async () => openai.chat.completions.create({ model, messages, max_tokens: 2 })),
  );
  const { body: page } = await call(server(), "GET", `${path}&order=desc`);
  const [newest] = page.data;
  assert.ok([first?.id, second?.id].includes(newest.id));
  assert.equal((await call(server(), "DELETE", `/v1/chat/completions/${newest.id}`)).status, 200);
  const { body: next } = await call(server(), "GET", `${path}&order=desc&after=${page.last_id}`);
  assert.ok([first?.id, second?.id].includes(next.data[0].id));
  assert.notEqual(next.data[0].id, newest.id);
});

test("a cursor that exists in several projects is refused until the request names the project", async () => {
  for (const project of ["one", "other"]) {
    const body = { project, name: "agent", base_model: "hone-tiny", return_existing: true };
    assert.equal((await call(server(), "POST", "/v1/preview/models", { body })).status, 200);
    const sent = {
      body: { model: `${project}/agent`, messages, max_tokens: 1 },
      headers: { "x-request-id": "same" },
    };
    assert.equal((await call(server(), "POST", "/v1/chat/completions", sent)).status, 200);
  }
  const path = "/v1/chat/completions?after=chatcmpl-same";
  const refused = await call(server(), "GET", path);
  assert.deepEqual([refused.status, refused.body.detail[0].loc], [422, ["query", "project"]]);
  const named = await call(server(), "GET", `${path}&project=local%2Fone`);
  assert.deepEqual([named.status, named.body.data], [200, []]);
});

test("invalid requests are refused with the location and the remedy", async () => {
  await registered();
  for (const [query, place, words] of [
    ["project=recorded", "project", /<entity>\/<project>/],
    ["model=hone-tiny", "model", /base model/],
    ["since=yesterday", "since", /ISO 8601/],
    ["after=chatcmpl-1", "after", /last_id/],
    ["limit=1000", "limit", /100/],
  ] as const) {
    const { status, body } = await call(server(), "GET", `/v1/chat/completions?${query}`);
    assert.equal(status, 422, query);
    assert.deepEqual(body.detail[0].loc, ["query", place]);
    assert.match(body.detail[0].msg, words);
  }
  for (const query of ["metadata=topic", "metadata[topic]=a&metadata[topic]=b"]) {
    const { status, body } = await call(server(), "GET", `/v1/chat/completions?${query}`);
    assert.equal(status, 422, query);
    assert.deepEqual(body.detail[0].loc, ["query", "metadata"]);
    assert.match(body.detail[0].msg, /metadata\[name\]=text/);
  }
  const many = { model, messages, max_tokens: 1, metadata: { topic: 1 } };
  const refused = await call(server(), "POST", "/v1/chat/completions", { body: many });
  assert.equal(refused.status, 422);
  assert.deepEqual(refused.body.detail[0].loc, ["body", "metadata", "topic"]);
});
