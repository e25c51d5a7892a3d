// Tests three base models on a server with memory for only one. Concurrent requests for all models get the same answers
// as requests that are sent one after another. Engines are really loaded, unloaded and killed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, childrenOf, eventually, serverOfFile, type RunningServer } from "./running-server.ts";
import { finish, registerModel, stepsOf, submitJob } from "./served-jobs.ts";

const golden = "test/fixtures/goldens/models";
const names = ["tiny", "llama", "olmo"] as const;
const models = ["tiny=qwen3", "llama=llama", "olmo=olmo2"].map((text) => text.replace("=", `=${golden}/`));
const flags = [
  ...models.flatMap((model) => ["--model", model]),
  "--built-in-model",
  "off",
  "--engine-threads",
  "1",
  "--training-batch-tokens",
  "750",
];
/** Memory limit in bytes: more than one model needs, and less than two models need. */
const memoryBytes = 320 * 2 ** 20;

const scarce = serverOfFile({
  flags: [...flags, "--models-memory-bytes", `${memoryBytes}`],
  limits: { models: { turnMs: 500, pauseMs: 50, roomWaitMs: 60_000 } },
});

const chat = (model: string, seed: number) => ({
  model,
  messages: [{ role: "user", content: "hello" }],
  max_tokens: 12,
  temperature: 1,
  seed,
  logprobs: true,
});

interface Answer {
  readonly status: number;
  readonly body: {
    choices: { message: { content: string }; logprobs: unknown }[];
    system_fingerprint: string;
  };
}

const ask = (server: RunningServer, body: object): Promise<Answer> =>
  call(server, "POST", "/v1/chat/completions", { body });

const withoutIds = ({ status, body: { choices, system_fingerprint } }: Answer) => ({
  status,
  choices,
  system_fingerprint,
});

async function statusOf(server: RunningServer, name: string): Promise<string> {
  const { body } = await call(server, "GET", `/v1/models/${name}`);
  return body.status.value;
}

async function metric(server: RunningServer, line: RegExp): Promise<number> {
  const { body } = await call(server, "GET", "/metrics");
  return Number(line.exec(String(body))?.[1] ?? 0);
}

function engineIds(server: RunningServer): readonly number[] {
  return childrenOf(server.process.pid ?? -1)
    .filter(({ command }) => command.includes("embedded-main"))
    .map(({ id }) => id);
}

/** Loads the model, and waits until nothing else runs. */
async function load(server: RunningServer, name: string): Promise<void> {
  const { status, body } = await ask(server, { ...chat(name, 0), max_tokens: 1 });
  assert.equal(status, 200, JSON.stringify(body));
}

test("at the start only the default model is loaded, and lists and health show that the others are not", async () => {
  const server = scarce();
  const { body } = await call(server, "GET", "/v1/models");
  const cards = new Map(body.data.map((card: { id: string }) => [card.id, card]));
  assert.deepEqual([...cards.keys()], names);
  for (const { status, max_model_len: length } of body.data) {
    assert.ok(length > 0 && status.memory_bytes > 2 ** 20 && status.memory_bytes < memoryBytes);
    assert.ok(status.key_value_bytes > 0 && status.key_value_bytes < status.memory_bytes);
  }
  assert.deepEqual(
    body.data.map(({ status }: { status: { value: string } }) => status.value),
    ["loaded", "unloaded", "unloaded"],
  );
  const health = await call(server, "GET", "/health");
  assert.deepEqual([health.status, health.body.state, health.body.models.tiny], [200, "ready", "loaded"]);
  assert.match(health.body.models.llama, /^unloaded: .* next request/);
  assert.equal(engineIds(server).length, 1);
});

test("concurrent chats and streams of all models are answered like those of one model at a time", async () => {
  const server = scarce();
  const bodies = names.flatMap((name) => [0, 1, 2, 3].map((seed) => chat(name, seed)));
  const expected: Answer[] = [];
  for (const body of bodies) expected.push(await ask(server, body));
  const streams = names.map(async (model) => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ ...chat(model, 5), stream: true, max_tokens: 60 }),
    });
    return { status: response.status, text: await response.text() };
  });
  const actual = await Promise.all(bodies.map((body) => ask(server, body)));
  assert.deepEqual(actual.map(withoutIds), expected.map(withoutIds));
  for (const { status, text } of await Promise.all(streams)) {
    assert.equal(status, 200, text);
    assert.match(text, /data: \[DONE\]\s*$/);
    assert.doesNotMatch(text, /"error"/);
  }
  assert.equal(engineIds(server).length, 1);
  const loads = await metric(server, /^hone_model_loads_total\{base_model="olmo",outcome="loaded"\} (\d+)/m);
  assert.ok(loads >= 1);
  assert.ok((await metric(server, /^hone_model_memory_bytes (\d+)/m)) <= memoryBytes);
});

test("a request with several prompts is answered completely even while other models wait", async () => {
  const server = scarce();
  const prompts = Array.from({ length: 8 }, () => "hello");
  const many = (model: string) =>
    call(server, "POST", "/v1/completions", {
      body: { model, prompt: prompts, max_tokens: 20, temperature: 0 },
    });
  const answers = await Promise.all(names.flatMap((model) => [many(model), many(model)]));
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  assert.ok(answers.every(({ body }) => body.choices.length === 8));
});

test("a client that disconnects while its model is loading leaves nothing behind, and the next request is answered", async () => {
  const server = scarce();
  await load(server, "tiny");
  const controller = new AbortController();
  const gone = fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(chat("llama", 1)),
    signal: controller.signal,
  });
  await eventually("it waits", async () =>
    (await metric(server, /^hone_model_requests_waiting (\d+)/m)) > 0 ? true : null,
  );
  controller.abort();
  await assert.rejects(gone);
  await eventually("nobody waits", async () =>
    (await metric(server, /^hone_model_requests_waiting (\d+)/m)) === 0 &&
    (await metric(server, /^hone_chat_running (\d+)/m)) === 0
      ? true
      : null,
  );
  await load(server, "llama");
});

test("killing an engine while it loads fails the waiting requests with the reason, and other models continue", async () => {
  const server = scarce();
  await load(server, "tiny");
  const before = engineIds(server);
  const asked = call(server, "POST", "/v1/chat/completions", { body: chat("olmo", 1) });
  const loading = await eventually("a process loads the model", async () => {
    const id = engineIds(server).find((one) => !before.includes(one));
    return id ?? null;
  });
  process.kill(loading, "SIGKILL");
  const { status, body, headers } = await asked;
  assert.equal(status, 503, JSON.stringify(body));
  assert.match(body.error.message, /The model olmo could not be loaded: .* was ended by SIGKILL/);
  assert.ok(Number(headers.get("retry-after")) >= 1);
  assert.equal((await call(server, "GET", "/health")).status, 200);
  await load(server, "tiny");
  await eventually("the model is loaded after all", async () =>
    (await ask(server, chat("olmo", 1))).status === 200 ? true : null,
  );
});

test("a job for a model that is not loaded trains, and its version is served once the model is loaded", async () => {
  const server = scarce();
  const modelId = await registerModel(server, "m");
  const jobId = await submitJob(server, modelId, 1);
  await load(server, "llama");
  await finish(server, jobId);
  assert.deepEqual(await stepsOf(server, modelId), [0, 1]);
  assert.equal(await statusOf(server, "tiny"), "unloaded");
  const { status, body } = await ask(server, chat("m:step1", 3));
  assert.equal(status, 200, JSON.stringify(body));
  assert.match(body.system_fingerprint, /^tiny#[0-9a-f]{12}@.*:step1/);
});

test("an administrator loads and unloads a model, whose engine process then ends", async () => {
  const server = scarce();
  const change = (verb: string, name: string) =>
    call(server, "POST", `/v1/preview/base-models/${name}/${verb}`);
  assert.deepEqual((await change("load", "olmo")).body, { base_model: "olmo", status: "loaded" });
  assert.equal(await statusOf(server, "olmo"), "loaded");
  assert.deepEqual((await change("unload", "olmo")).body, { base_model: "olmo", status: "unloaded" });
  await eventually("no engine runs", async () => (engineIds(server).length === 0 ? true : null));
  assert.deepEqual((await change("unload", "olmo")).status, 200);
  const { status, body } = await change("load", "owner%2Fmodel");
  assert.deepEqual([status, body.detail[0].loc], [404, ["path", "base_model"]]);
  await load(server, "olmo");
  assert.equal(await statusOf(server, "olmo"), "loaded");
});
