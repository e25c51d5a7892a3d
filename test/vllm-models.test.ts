// Tests over HTTP a model that vLLM computes; the Hone server has only the model's small files. A stub with the same
// weights and HTTP interface replaces vLLM; tools/conformance/vllm tests vLLM itself.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  endTokenId,
  modelFolder,
  recorded,
  vocabulary,
} from "../src/inference/engine/contract/engine-under-test.ts";
import { LocalEngine } from "../src/inference/engine/testing/local-engine.ts";
import { openModelFolder } from "../src/inference/engine/opening/open-model-folder.ts";
import { openingOf } from "../src/inference/engine/opening/model-opening.ts";
import { engineSettings } from "../src/inference/engine/settings.ts";
import { constraintSettings } from "../src/inference/engine/token-masks/settings.ts";
import { StubVllm } from "../src/inference/vllm/testing/stub-vllm.ts";
import { silentLogger } from "../src/base/telemetry/testing/silent-logger.ts";
import { call, eventually, startServer, type RunningServer } from "./running-server.ts";

const vllmKey = "key-that-vllm-asks-for";
const folder = mkdtempSync(join(tmpdir(), "hone-vllm-"));
const smallFiles = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"];

function computing(): LocalEngine {
  const settings = engineSettings.with({ threads: 1, kvCacheBytesMax: 2 ** 23, waitingCountMax: 100 });
  const cacheFolder = join(folder, "cache");
  return new LocalEngine({
    openModel: () =>
      openModelFolder(openingOf({ modelFolder, cacheFolder, quantization: "off", settings }), silentLogger),
    vocabulary,
    settings,
    constraints: constraintSettings.with(),
    logger: silentLogger,
  });
}

/** Parameters with which vLLM's NIXL connector reports which server holds a prompt. */
const heldAs = {
  do_remote_prefill: true,
  do_remote_decode: false,
  remote_block_ids: [[1, 2]],
  remote_engine_id: "engine",
  remote_request_id: "cmpl-1",
  remote_host: "10.0.0.1",
  remote_port: 5600,
  tp_size: 1,
};

const stub = new StubVllm({
  behind: computing(),
  contextLength: 256,
  vocabularySize: 512,
  endTokenId,
  logprobCountMax: 10,
  key: vllmKey,
  heldAs,
});
let server: RunningServer;

before(async () => {
  for (const name of [...smallFiles, "chat_template.jinja"])
    cpSync(join(modelFolder, name), join(folder, "files", name));
  const url = await stub.start();
  server = await startServer({
    dataFolder: join(folder, "data"),
    flags: ["--model", `big=vllm+${url}?files=${join(folder, "files")}`, "--built-in-model", "off"],
    limits: { remote: { lookSeconds: 0.1, firstTokenSeconds: 30 } },
    environment: { HONE_REMOTE_API_KEY: vllmKey, HONE_TRANSFER_SECRET: "a secret that servers share" },
  });
  await eventually("it is well", async () => {
    const { status } = await call(server, "GET", "/health");
    return status === 200 ? status : null;
  });
});

after(async () => {
  await server.terminate();
  await stub.stop();
  rmSync(folder, { recursive: true });
});

const completion = { model: "big", prompt: recorded.prompt, max_tokens: 16, temperature: 0 };
const messages = [{ role: "user", content: "Say yes or no." }];

test("answers with the model's tokens and log-probabilities", async () => {
  const body = { ...completion, n: 2, logprobs: 2, return_token_ids: true };
  const { status, body: answer } = await call(server, "POST", "/v1/completions", { body });
  assert.equal(status, 200, JSON.stringify(answer));
  for (const choice of answer.choices) {
    assert.deepEqual(choice.token_ids, recorded.answer.slice(0, 16));
    for (const logprob of choice.logprobs.token_logprobs) assert.ok(logprob <= 0 && logprob > -20);
  }
  const scored = { model: "big", prompt: recorded.scored.tokenIds, max_tokens: 1, prompt_logprobs: 0 };
  const judged = await call(server, "POST", "/v1/completions", { body: scored });
  recorded.scored.logprobs.forEach((expected, index) => {
    const entry = judged.body.choices[0].prompt_logprobs[index];
    const logprob = entry?.[recorded.scored.tokenIds[index]]?.logprob ?? null;
    assert.ok(logprob === expected || Math.abs(logprob - (expected ?? NaN)) < 1e-4, `${index}: ${logprob}`);
  });
});

test("a stream equals the whole answer, and ends at vLLM when the client disconnects", async () => {
  const body = { model: "big", messages, max_tokens: 24, temperature: 0 };
  const whole = await call(server, "POST", "/v1/chat/completions", { body });
  const streamed = await call(server, "POST", "/v1/chat/completions", { body: { ...body, stream: true } });
  const parts = String(streamed.body)
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "");
  assert.equal(parts.join(""), whole.body.choices[0].message.content);
  const leaving = new AbortController();
  const long = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, max_tokens: 200, n: 8, temperature: 1, ignore_eos: true, stream: true }),
    signal: leaving.signal,
  });
  await long.body?.getReader().read();
  leaving.abort();
  await eventually("nothing runs at vLLM", async () => (stub.runningCount === 0 ? true : null));
});

test("refuses by name the fields that vLLM ignores or treats differently", async () => {
  for (const [field, more] of Object.entries({
    use_beam_search: { use_beam_search: true, n: 2 },
    bad_words: { bad_words: ["yes"] },
    priority: { priority: 1 },
    logprobs: { logprobs: true, top_logprobs: 11 },
    kv_transfer_params: { kv_transfer_params: heldAs },
  })) {
    const body = { model: "big", messages, max_tokens: 2, ...more };
    const { status, body: answer } = await call(server, "POST", "/v1/chat/completions", { body });
    assert.equal(status, 400, field);
    assert.ok(JSON.stringify(answer).includes(field), JSON.stringify(answer));
  }
});

test("a prompt is transferred between vLLM servers with their own parameters", async () => {
  const ask = (more: object) => call(server, "POST", "/v1/completions", { body: { ...completion, ...more } });
  const asked = { do_remote_decode: true, do_remote_prefill: false, remote_host: null };
  const { body: held } = await ask({ max_tokens: 1, kv_transfer_params: asked });
  const { hone_seal: seal, ...params } = held.kv_transfer_params;
  assert.equal(typeof seal, "string");
  assert.deepEqual(params, heldAs);
  const changed = await ask({ kv_transfer_params: { ...held.kv_transfer_params, remote_block_ids: [[3]] } });
  assert.equal(changed.status, 400);
  stub.asked.length = 0;
  const { status, body: answer } = await ask({ kv_transfer_params: held.kv_transfer_params });
  assert.equal(status, 200, JSON.stringify(answer));
  const bodies = stub.asked.flatMap(({ path, body }) => (path === "/v1/completions" ? [body] : []));
  assert.deepEqual(
    bodies.map((body) => Object.getOwnPropertyDescriptor(body, "kv_transfer_params")?.value),
    [heldAs],
  );
  assert.equal((await ask({ kv_transfer_params: held.kv_transfer_params })).status, 400, "it is good once");
});

test("reports its settings without the API key", async () => {
  const { body } = await call(server, "GET", "/v1/models");
  const [big] = body.data;
  assert.deepEqual([big.id, big.exact, big.device.value, big.max_model_len], ["big", false, "vllm", 256]);
  const metrics = await call(server, "GET", "/metrics");
  assert.match(String(metrics.body), /hone_engine_replicas_ready\{base_model="big"\} 1/);
  const { body: check } = await call(server, "GET", "/v1/system-check");
  assert.equal(check.status, "ok", JSON.stringify(check));
  assert.ok(!server.output().includes(vllmKey));
  assert.equal(readFileSync(join(folder, "data", "audit.jsonl"), "utf8").includes(vllmKey), false);
});

test("refuses jobs when they are submitted if the base model's weights are not on this server", async () => {
  const model = { project: "p", name: "m", base_model: "big" };
  const { body: registered } = await call(server, "POST", "/v1/preview/models", { body: model });
  const { body: chat } = await call(server, "POST", "/v1/chat/completions", {
    body: { model: registered.id, messages, max_tokens: 4, n: 2, temperature: 1 },
  });
  const trajectories = chat.choices.map((choice: unknown, index: number) => ({
    messages_and_choices: [...messages, choice],
    reward: index,
  }));
  const job = { model_id: registered.id, trajectory_groups: [{ trajectories }] };
  const { status, body } = await call(server, "POST", "/v1/preview/training-jobs", { body: job });
  assert.equal(status, 400, JSON.stringify(body));
  assert.match(
    JSON.stringify(body),
    /over the base model .*big.* need its weights, which this server does not have/,
  );
});

test("reports that vLLM is unreachable, and continues once it is back", async () => {
  stub.fault = (_path, request) => {
    request.socket.destroy();
    return true;
  };
  await eventually("it is not well", async () => {
    const { body } = await call(server, "GET", "/health");
    return body.state === "restarting" ? true : null;
  });
  const away = await call(server, "POST", "/v1/completions", { body: completion });
  assert.equal(away.status, 503);
  assert.ok(away.headers.has("retry-after"));
  stub.fault = () => false;
  await eventually("it answers again", async () => {
    const { status } = await call(server, "POST", "/v1/completions", { body: completion });
    return status === 200 ? true : null;
  });
});
