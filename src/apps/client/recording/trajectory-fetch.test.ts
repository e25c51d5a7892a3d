import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, trajectoryFetch } from "./trajectory-fetch.ts";

const model = "e/p/m:step0";
const rollout = { baseURL: "http://host/v1/preview/models/m/rollouts/r/v1", apiKey: "own" };
const server = { baseURL: "http://host/v1", apiKey: "key" };

function recorder(defaults: JsonObject = {}) {
  const sent: { readonly url: string; readonly body: JsonObject | null; readonly request: RequestInit }[] =
    [];
  const answered: string[] = [];
  const end = new AbortController();
  let seed = 0;
  let idCount = 0;
  const fetch = trajectoryFetch({
    send: async (url, request) => {
      const { body } = request;
      const text = await new Response(body ?? null).text();
      sent.push({ url, body: text.startsWith("{") ? JSON.parse(text) : null, request });
      return new Response("{}", { headers: { "x-hone-call": "weave:///e/p/call/a%2Fb" } });
    },
    model,
    rollout,
    server,
    defaults,
    seed: () => ++seed,
    newId: () => `id-${++idCount}`,
    signal: end.signal,
    onAnswer: (id) => void answered.push(id),
  });
  const post = (body: JsonObject, to: string, headers: Record<string, string> = {}) =>
    fetch(to, { method: "POST", headers, body: JSON.stringify(body) });
  return { fetch, post, sent, answered, end };
}

test("sends calls of the model by every API to the rollout with its key, and notes the ids of the answers", async () => {
  const { post, sent, answered } = recorder();
  for (const route of ["chat/completions", "completions", "responses", "messages"]) {
    await post({ model }, `${rollout.baseURL}/${route}`);
    await post({ model }, `http://elsewhere/v1/${route}`, { "x-api-key": "other" });
    for (const { url, request } of sent.splice(0)) {
      assert.equal(url, `${rollout.baseURL}/${route}`);
      const headers = new Headers(request.headers);
      assert.deepEqual([headers.get("authorization"), headers.get("x-api-key")], ["Bearer own", null]);
    }
  }
  assert.deepEqual(new Set(answered), new Set(["a/b"]));
});

test("adds defaults and a seed to a call of the model, unless the call has these fields", async () => {
  const { post, sent } = recorder({ temperature: 1.2, max_completion_tokens: 9, top_p: 0.5 });
  const chat = `${rollout.baseURL}/chat/completions`;
  await post({ model, top_p: null, max_tokens: 5 }, chat);
  await post({ model, seed: 7, temperature: 0 }, chat);
  await post({ model }, `${rollout.baseURL}/responses`);
  await post({ model }, `${rollout.baseURL}/messages`);
  const usual = { model, temperature: 1.2, top_p: 0.5 };
  assert.deepEqual(
    sent.map(({ body }) => body),
    [
      { ...usual, max_tokens: 5, seed: 1 },
      { ...usual, max_completion_tokens: 9, seed: 7, temperature: 0 },
      { ...usual, max_output_tokens: 9, seed: 2 },
      { ...usual, max_tokens: 9, seed: 3 },
    ],
  );
});

test("gives a call that the library repeats the same key and seed, unless another call had the same body", async () => {
  const { post, sent } = recorder();
  const chat = `${rollout.baseURL}/chat/completions`;
  const ask = (content: string, retryCount: number) =>
    post({ model, content }, chat, { "x-stainless-retry-count": String(retryCount) });
  for (const [content, retryCount] of [
    ["one", 0],
    ["two", 0],
    ["one", 1],
    ["one", 2],
    ["two", 0],
    ["two", 1],
  ] as const)
    await ask(content, retryCount);
  assert.deepEqual(
    sent.map(({ body, request }) => [body?.["seed"], new Headers(request.headers).get("idempotency-key")]),
    [1, 2, 1, 1, 3, 4].map((number) => [number, `id-${number}`]),
  );
});

test("sends all other requests to the server with its key, without changing their bodies", async () => {
  const { fetch, post, sent, answered } = recorder({ temperature: 1 });
  await post({ model: "another" }, `${rollout.baseURL}/chat/completions`);
  await fetch(`${rollout.baseURL}/models`);
  await fetch(new Request("http://elsewhere/files", { method: "POST", body: new Uint8Array([1, 2]) }));
  assert.deepEqual(
    sent.map(({ url }) => url),
    ["http://host/v1/chat/completions", "http://host/v1/models", "http://elsewhere/files"],
  );
  assert.deepEqual(sent[0]?.body, { model: "another" });
  assert.equal(new Headers(sent[0]?.request.headers).get("authorization"), "Bearer key");
  assert.equal((sent[2]?.request.body as ArrayBuffer | undefined)?.byteLength, 2);
  assert.deepEqual(answered, []);
});

test("aborts a call with its own signal, and sends nothing after the trajectory has ended", async () => {
  const { fetch, post, sent, end } = recorder();
  const own = new AbortController();
  const body = JSON.stringify({ model });
  await fetch(new Request(`${rollout.baseURL}/messages`, { method: "POST", body, signal: own.signal }));
  own.abort();
  assert.equal(sent[0]?.request.signal?.aborted, true);
  end.abort(new Error("over"));
  await assert.rejects(post({ model }, `${rollout.baseURL}/messages`), /over/);
  assert.equal(sent.length, 1);
});
