// Tests prompts that one server computes and another server answers, over HTTP with the requests of a proxy in front of
// both. An answer must equal, bit for bit, the answer of the second server without the first. Failures on the way must
// be reported.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { createProxy } from "../examples/prefill-decode-proxy.ts";
import { inProof } from "../src/base/domain/testing/search.ts";
import { readModelConfig } from "../src/inference/architectures/config/read-config.ts";
import { writeLoraAdapter } from "../src/inference/architectures/peft-folder.ts";
import { createRandomAdapter } from "../src/inference/architectures/testing/random-adapter.ts";
import type { TransferSettings } from "../src/inference/kv-transfer/settings.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { model, registerModel } from "./served-jobs.ts";

const secret = "a secret that servers share";
/** API key of a client that uses both servers. */
const key = "hone_a_key_that_both_servers_know";
/** Clean-up functions: `ends` of the current test, and `lastEnds` of resources that all tests share. */
const ends: (() => unknown)[] = [];
const lastEnds: (() => unknown)[] = [];
const endAll = async (list: (() => unknown)[]): Promise<void> => {
  for (const end of list.splice(0).reverse()) await end();
};
afterEach(() => endAll(ends));
after(() => endAll(lastEnds));

/** Starts a server with the shared secret and the given settings. */
async function serverWith(
  transfer: Partial<TransferSettings>,
  {
    dataFolder = newDataFolder(),
    flags = model,
    bytes = 2 ** 26,
  }: { readonly dataFolder?: string; readonly flags?: readonly string[]; readonly bytes?: number } = {},
): Promise<RunningServer> {
  const limits = { transfer: { secret, ...transfer }, engine: { transferBytesMax: bytes } };
  writeFileSync(join(dataFolder, "admin-key"), key);
  const server = await startServer({ dataFolder, flags: [...flags, "--api-key", key], limits });
  ends.push(async () => {
    if (server.process.exitCode === null && server.process.signalCode === null) await server.terminate();
    removeDataFolder(dataFolder);
  });
  return server;
}

type Body = Readonly<Record<string, unknown>>;

const story = "Sam has a red ball and Ann has a blue one. ".repeat(4);
const chat: Body = {
  messages: [{ role: "user", content: story }],
  max_tokens: 8,
  temperature: 1,
  seed: 3,
  logprobs: true,
  top_logprobs: 2,
  return_token_ids: true,
};
const chatPath = "/v1/chat/completions";

/**
 * Sends the prefill request that vLLM's proxies derive from a client's request. Returns the transfer parameters in the
 * response.
 */
async function prefill(server: RunningServer, body: Body, path = chatPath) {
  const nothing = { remote_engine_id: null, remote_block_ids: null, remote_host: null, remote_port: null };
  const params = { do_remote_decode: true, do_remote_prefill: false, ...nothing };
  const { stream_options: _, ...rest } = body;
  const asked = { ...rest, stream: false, max_tokens: 1, kv_transfer_params: params };
  const answer = await call(server, "POST", path, { body: asked, headers: { "x-request-id": "proxied" } });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { params: answer.body.kv_transfer_params, notice: answer.headers.get("x-hone-notice") };
}

/** Sends the decode request with the transfer parameters. */
async function decode(server: RunningServer, body: Body, params: unknown, path = chatPath) {
  const headers = { "x-request-id": "proxied" };
  const asked = { ...body, min_completion_tokens: null, kv_transfer_params: params };
  const {
    status,
    body: answer,
    headers: answered,
  } = await call(server, "POST", path, { body: asked, headers });
  return { status, answer, notice: answered.get("x-hone-notice") };
}

const cachedOf = ({ usage }: any): readonly number[] => [
  usage.prompt_tokens_details.cached_tokens,
  usage.prompt_tokens,
];

let saltCount = 0;
/** Adds a unique cache salt, so that the request cannot use cached prefixes of other requests. */
const fresh = (body: Body): Body => ({ ...body, cache_salt: `salt ${++saltCount}` });

/** Checks that a prompt computed by one server and answered by the other gives the same answer as a single server. */
async function checkPassed(
  [prefilling, decoding]: readonly [RunningServer, RunningServer],
  body: Body,
  path = chatPath,
): Promise<void> {
  const { params } = await prefill(prefilling, body, path);
  const passed = await decode(decoding, fresh(body), params, path);
  assert.equal(passed.status, 200, JSON.stringify(passed.answer));
  assert.equal(passed.notice, null);
  const [cached, all] = cachedOf(passed.answer);
  assert.equal(cached, all, "nothing of the prompt was computed");
  const alone = await call(decoding, "POST", path, { body: fresh(body) });
  assert.deepEqual(cachedOf(alone.body)[0], 0);
  assert.deepEqual(passed.answer.choices, alone.body.choices);
  const again = await decode(decoding, fresh(body), params, path);
  assert.match(again.notice ?? "", /does not hold the prompt.*It was computed here/);
  assert.deepEqual(again.answer.choices, alone.body.choices);
}

const peerOf = (server: { readonly url: string }): readonly string[] => [server.url];

/** Makes the same version 1 of the model `p/m` on each of the servers. */
async function importAdapter(servers: readonly RunningServer[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "hone-passed-"));
  try {
    const config = readModelConfig("test/fixtures/small-model");
    const adapter = createRandomAdapter(config, { rank: 2, alpha: 4, seed: 1 });
    writeLoraAdapter(folder, adapter, { config, baseModelName: "tiny" });
    const body = execFileSync("tar", ["cf", "-", "-C", folder, "."]);
    for (const server of servers) {
      const id = await registerModel(server, "m");
      const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/x-tar" };
      const path = `/v1/preview/models/${id}/checkpoints`;
      const imported = await fetch(server.url + path, { method: "POST", headers, body });
      assert.equal(imported.status, 200, await imported.text());
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let prefilling: RunningServer;
let decoding: RunningServer;
/** A server with another secret, which has room only for short prompts, and holds them for a moment. */
let stranger: RunningServer;
/** Peers of `decoding` that fail in different ways. */
let fakes: Awaited<ReturnType<typeof startFakes>>;
before(async () => {
  prefilling = await serverWith({});
  fakes = await startFakes();
  stranger = await serverWith({ secret: "another secret of servers", holdSeconds: 0.05 }, { bytes: 2 ** 15 });
  const peers = [prefilling, stranger, ...Object.values(fakes)].map(({ url }) => url);
  decoding = await serverWith({ peers, fetchSeconds: 10 });
  lastEnds.push(...ends.splice(0));
});

test("with `kv_transfer_params` one server computes a prompt and another answers it, bit for bit as without a transfer", async () => {
  await checkPassed([prefilling, decoding], chat);
  await checkPassed([prefilling, decoding], { ...chat, n: 3, seed: 5 });
  await checkPassed([prefilling, decoding], { ...chat, response_format: { type: "json_object" } });
  const { temperature: _, seed: __, ...drawsNothing } = chat;
  await checkPassed([prefilling, decoding], { ...drawsNothing, use_beam_search: true, n: 2 });
  const completion = { prompt: story, max_tokens: 8, temperature: 1, seed: 4, logprobs: 2 };
  await checkPassed([prefilling, decoding], completion, "/v1/completions");
});

const hybrid = "tiny=test/fixtures/goldens/models/qwen3.5";
// `inference/engine/loop/transfers.test.ts` compares these answers without servers.
for (const [what, flags] of [
  ["layers that keep states instead of keys and values", ["--model", hybrid, "--built-in-model", "off"]],
  ["8-bit weights", [...model, "--quantize", "8"]],
  ["4-bit weights", [...model, "--quantize", "4"]],
] as const)
  test(`the transfer is exact with ${what}`, inProof, async () => {
    const one = await serverWith({}, { flags });
    const other = await serverWith({ peers: peerOf(one) }, { flags });
    await checkPassed([one, other], chat);
  });

test("a prompt at another precision is computed by the answering server", async () => {
  const rounded = await serverWith({ peers: peerOf(prefilling) }, { flags: [...model, "--quantize", "8"] });
  const { params } = await prefill(prefilling, chat);
  const { answer, notice } = await decode(rounded, chat, params);
  assert.match(notice ?? "", /with another precision\. It was computed here/);
  assert.equal(cachedOf(answer)[0], 0);
});

test("a trained version's prompt can be transferred only between servers with the same adapter", async () => {
  await importAdapter([prefilling, decoding]);
  await checkPassed([prefilling, decoding], { ...chat, model: "p/m" });
  const { params } = await prefill(prefilling, { ...chat, model: "p/m:step0" });
  const { notice } = await decode(decoding, { ...chat, model: "p/m" }, params);
  assert.match(notice ?? "", /with another adapter/);
});

test("a stream with a transferred prompt equals a stream without a transfer", async () => {
  const { params } = await prefill(prefilling, chat);
  const streamed = { ...chat, stream: true, stream_options: { include_usage: true } };
  const textOf = async (body: Body): Promise<string> =>
    String((await call(decoding, "POST", chatPath, { body })).body);
  const passed = await textOf({ ...streamed, kv_transfer_params: params });
  const alone = await textOf(fresh(streamed));
  const deltasOf = (text: string): readonly unknown[] =>
    [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = ""]) => JSON.parse(data).choices);
  assert.ok(deltasOf(passed).length > 1);
  const joined = (deltas: readonly any[]): unknown => [
    deltas.map(({ delta }) => delta.content ?? "").join(""),
    deltas.flatMap(({ logprobs }) => logprobs?.content ?? []),
  ];
  assert.deepEqual(joined(deltasOf(passed)), joined(deltasOf(alone)));
});

test("for another prompt only the common prefix is used, and the answer says so", async () => {
  const { params } = await prefill(prefilling, chat);
  const longer = { ...chat, messages: [{ role: "user", content: `${story} Who has a ball?` }] };
  const { answer, notice } = await decode(decoding, fresh(longer), params);
  assert.match(notice ?? "", /covers the first \d+ tokens; the rest was computed here/);
  const [cached, all] = cachedOf(answer);
  assert.ok(cached > 32 && cached < all, `${cached} of ${all}`);
  const alone = await call(decoding, "POST", chatPath, { body: fresh(longer) });
  assert.deepEqual(answer.choices, alone.body.choices);
});

test("a request for the prompt's log-probabilities computes the prompt again", async () => {
  const { params } = await prefill(prefilling, chat);
  const { answer, notice } = await decode(decoding, { ...chat, prompt_logprobs: 1 }, params);
  assert.match(notice ?? "", /computed here, for its log-probabilities/);
  assert.equal(answer.prompt_logprobs.length, answer.usage.prompt_tokens);
});

test("a proxy in front of both servers answers like the second server, with and without streaming", async () => {
  const proxy = createProxy({ prefill: prefilling.url, decode: decoding.url }).listen(0, "127.0.0.1");
  ends.push(() => proxy.close());
  await new Promise((resolve) => proxy.once("listening", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const body = fresh(chat);
  const proxied = await call({ ...decoding, url }, "POST", chatPath, { body });
  assert.deepEqual(cachedOf(proxied.body)[0], cachedOf(proxied.body)[1]);
  const alone = await call(decoding, "POST", chatPath, { body: fresh(chat) });
  assert.deepEqual(proxied.body.choices, alone.body.choices);
  const stream = await call({ ...decoding, url }, "POST", chatPath, { body: { ...body, stream: true } });
  assert.match(String(stream.body), /^data: .*data: \[DONE\]\n\n$/s);
  const refused = await call({ ...decoding, url }, "POST", chatPath, { body: { messages: 3 } });
  assert.equal(refused.status, 422);
});

/** Number of requests that the silent peer has received. */
let askedSilently = 0;

/** Starts a peer at an allowed address. It can alter the responses of the real server. */
async function fakePeer(
  answer: (...parts: Parameters<RequestListener>) => unknown,
): Promise<{ readonly url: string; readonly params: (real: any) => object }> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    params: (real) => ({ ...real, remote_host: "127.0.0.1", remote_port: port }),
  };
}

/** Forwards a request to the real server that holds the prompt; returns the body of its response. */
async function realBody(request: Parameters<RequestListener>[0]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const { authorization = "" } = request.headers;
  const answer = await fetch(`${prefilling.url}/v1/kv-transfers`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
    body: Buffer.concat(pieces),
  });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

async function startFakes() {
  return {
    truncated: await fakePeer(async (request, response) => {
      const body = await realBody(request);
      response.end(body.subarray(0, body.length - 5000));
    }),
    broken: await fakePeer(async (request, response) => {
      const body = await realBody(request);
      response.writeHead(200, { "content-length": body.length });
      response.write(body.subarray(0, 9000), () => response.destroy());
    }),
    changed: await fakePeer(async (request, response) => {
      const body = await realBody(request);
      body[body.length - 4000] ^= 1;
      response.end(body);
    }),
    silent: await fakePeer(() => {
      askedSilently += 1;
    }),
    redirecting: await fakePeer((_, response) => response.writeHead(307, { location: prefilling.url }).end()),
  };
}

test("any failure of the transfer leads to computing the prompt locally, and the answer names the reason", async () => {
  const alone = await call(decoding, "POST", chatPath, { body: fresh(chat) });
  const check = async (params: unknown, reason: RegExp): Promise<void> => {
    const { status, answer, notice } = await decode(decoding, fresh(chat), params);
    assert.equal(status, 200, JSON.stringify(answer));
    assert.match(notice ?? "", reason);
    assert.match(notice ?? "", /It was computed here/);
    assert.deepEqual(answer.choices, alone.body.choices);
  };
  const real = async (): Promise<any> => (await prefill(prefilling, chat)).params;
  await check(fakes.truncated.params(await real()), /ended early/);
  await check(fakes.broken.params(await real()), /cannot be reached, or the connection broke/);
  await check(fakes.changed.params(await real()), /changed on the way/);
  await check(fakes.silent.params(await real()), /did not send the prompt within 10 s/);
  await check(fakes.redirecting.params(await real()), /cannot be reached/);
  const strangerPort = Number(new URL(stranger.url).port);
  await check({ ...(await real()), remote_port: strangerPort }, /does not know this server's secret/);
  await check({ ...(await real()), remote_request_id: "guessed" }, /does not hold the prompt/);
  const { params, notice } = await prefill(stranger, chat);
  assert.equal(params, null);
  assert.match(notice ?? "", /leave no room for it/);
  const short = await prefill(stranger, { ...chat, messages: [{ role: "user", content: "Hi" }] });
  assert.notEqual(short.params, null);
  await eventually("it expires", async () => ((await gaugeOf(stranger)) === 0 ? true : null));
});

/** Returns a gauge of a server, summed over its models. */
async function gaugeOf(server: RunningServer, name = "hone_engine_transfer_bytes"): Promise<number> {
  const text = String((await call(server, "GET", "/metrics")).body);
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
  assert.ok(values.length > 0, name);
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

test("a restarted server no longer holds earlier prompts", async () => {
  const { params } = await prefill(prefilling, chat);
  await prefilling.kill();
  const gone = await decode(decoding, chat, params);
  assert.match(gone.notice ?? "", /cannot be reached/);
  const { port } = new URL(prefilling.url);
  prefilling = await serverWith({}, { dataFolder: prefilling.dataFolder, flags: [...model, "--port", port] });
  lastEnds.push(...ends.splice(0));
  const lost = await decode(decoding, chat, params);
  assert.match(lost.notice ?? "", /does not hold the prompt/);
});

test("if the operator configures it, a prompt that another entity had computed fails the request", async () => {
  const server = await serverWith(
    { peers: peerOf(prefilling), onFailure: "fail" },
    { flags: [...model, "--entity", "others"] },
  );
  const { params } = await prefill(prefilling, chat);
  const { status, answer } = await decode(server, chat, params);
  assert.equal(status, 503);
  assert.equal(answer.error.code, "unavailable");
  assert.match(server.output(), /does not hold the prompt/);
  const { notice } = await decode(decoding, fresh(chat), params);
  assert.equal(notice, null);
});

test("contacts only addresses that the operator configured, regardless of the request", async () => {
  let asked = 0;
  const other = await fakePeer((_, response) => {
    asked += 1;
    response.end();
  });
  const { params } = await prefill(prefilling, chat);
  const { status, answer } = await decode(decoding, chat, other.params(params));
  assert.equal(status, 400);
  assert.match(answer.error.message, /not among the servers that the operator named/);
  assert.equal(asked, 0);
});

test("a held prompt is given only to servers that sign", async () => {
  const { params } = await prefill(prefilling, chat);
  const ask = async (authorization: string): Promise<number> => {
    const headers = { "content-type": "application/json", authorization };
    const body = JSON.stringify({ handle: params.remote_request_id, entity: "local" });
    const answer = await fetch(`${prefilling.url}/v1/kv-transfers`, { method: "POST", headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  assert.equal(await ask(`Bearer ${prefilling.apiKey}`), 401);
  assert.equal(await ask(`Hone-Transfer ${"0".repeat(64)}`), 401);
  const { notice } = await decode(decoding, fresh(chat), params);
  assert.equal(notice, null);
});

test("a client that disconnects while its prompt is fetched leaves nothing behind", async () => {
  const askedBefore = askedSilently;
  const { params } = await prefill(prefilling, chat);
  const leaving = new AbortController();
  const left = fetch(`${decoding.url}${chatPath}`, {
    method: "POST",
    signal: leaving.signal,
    headers: { authorization: `Bearer ${decoding.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...fresh(chat), kv_transfer_params: fakes.silent.params(params) }),
  });
  await eventually("the other server is asked", async () => (askedSilently > askedBefore ? true : null));
  assert.equal(await gaugeOf(decoding, "hone_kv_transfers_fetching"), 1);
  leaving.abort();
  await assert.rejects(left);
  for (const gauge of ["hone_kv_transfers_fetching", "hone_chat_running", "hone_engine_transfer_bytes"])
    await eventually(`${gauge} is 0`, async () => ((await gaugeOf(decoding, gauge)) === 0 ? true : null));
});

test("refuses incomplete and contradictory `kv_transfer_params`, and accepts those that request nothing", async () => {
  const statusOf = async (body: Body): Promise<number> =>
    (await call(decoding, "POST", body["prompt"] === undefined ? chatPath : "/v1/completions", { body }))
      .status;
  const hold = { do_remote_decode: true };
  assert.equal(await statusOf({ ...chat, kv_transfer_params: { do_remote_prefill: true } }), 422);
  assert.equal(await statusOf({ ...chat, kv_transfer_params: { do_remote_decode: "yes" } }), 422);
  assert.equal(await statusOf({ ...chat, stream: true, kv_transfer_params: hold }), 422);
  assert.equal(await statusOf({ prompt: ["a", "b"], kv_transfer_params: hold }), 422);
  assert.equal(await statusOf({ prompt: ["a"], kv_transfer_params: hold }), 200);
  const nothing = { do_remote_prefill: false, remote_host: null, anything: { else: 1 } };
  assert.equal(await statusOf({ ...chat, kv_transfer_params: nothing }), 200);
});
