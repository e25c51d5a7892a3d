// Tests the requests of a remote engine to vLLM, and how it handles failing servers. Another file runs the contract
// tests.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import type { Engine } from "../../base/domain/generation.ts";
import { createFakeEngine } from "../engine/testing/fake-engine.ts";
import { fakeShape } from "../engine/testing/fake-runner.ts";
import { requestOf, type ShortRequest } from "../engine/testing/run-loop.ts";
import { read } from "../engine/contract/engine-under-test.ts";
import type { RemoteSettings } from "./settings.ts";
import { StubVllm, type StubFault } from "./testing/stub-vllm.ts";
import { remoteEngine } from "./testing/stubbed-engine.ts";

const { vocabularySize, contextLength } = fakeShape;

interface Given {
  readonly settings?: Partial<RemoteSettings>;
  readonly stub?: Partial<ConstructorParameters<typeof StubVllm>[0]>;
}

/** Creates a stub of vLLM and an engine over it, which are stopped after the test. */
async function setUp(t: TestContext, given: Given = {}) {
  const stub = new StubVllm({
    behind: createFakeEngine(),
    vocabularySize,
    contextLength,
    endTokenId: 2,
    logprobCountMax: 20,
    ...given.stub,
  });
  const url = await stub.start();
  t.after(() => stub.stop());
  const engine = remoteEngine({
    urls: [url],
    vocabularySize,
    waitingCountMax: 100,
    settings: given.settings ?? {},
  });
  t.after(() => engine.stop());
  return { stub, engine };
}

async function started(t: TestContext, given: Given = {}) {
  const parts = await setUp(t, given);
  await parts.engine.start();
  parts.stub.asked.length = 0;
  return parts;
}

const ask = (more: ShortRequest = {}) => requestOf([5, 6, 7], more);

async function until(isSo: () => boolean): Promise<void> {
  const startMs = systemClock.monotonicMs();
  while (!isSo()) {
    assert.ok(systemClock.monotonicMs() - startMs < 30_000, "it comes within 30 s");
    await systemClock.sleep(5);
  }
}

/** Returns the bodies that the engine sent to `/v1/completions`. */
const completions = ({ asked }: StubVllm) =>
  // Safe cast: the engine sends an object as the body.
  asked.flatMap(({ path, body }) => (path === "/v1/completions" ? [body as Record<string, unknown>] : []));

test("sends token ids and every parameter, so that no default of the server applies", async (t) => {
  const { stub, engine } = await started(t);
  const sampling = { temperature: 0.7, topP: 0.9, topK: 5, minP: 0.1, seed: 3 };
  const request = ask({
    choiceCount: 2,
    maxTokens: 4,
    stopTokenIds: [2, 9],
    topLogprobCount: 1,
    sampling: { ...sampling, repetitionPenalty: 1.5, frequencyPenalty: 0.5, presencePenalty: -0.5 },
    cacheOwner: "acme@/\\",
    cacheSalt: "s".repeat(1000),
  });
  assert.equal((await read(engine.submit(request))).failure, null);
  const [body = {}] = completions(stub);
  const { seed, cache_salt: salt, ...rest } = body;
  assert.deepEqual(rest, {
    model: "tiny",
    prompt: [5, 6, 7],
    request_id: "request",
    n: 2,
    max_tokens: 4,
    min_tokens: 0,
    stop_token_ids: [2, 9],
    ignore_eos: true,
    temperature: 0.7,
    top_p: 0.9,
    top_k: 5,
    min_p: 0.1,
    repetition_penalty: 1.5,
    frequency_penalty: 0.5,
    presence_penalty: -0.5,
    logprobs: 1,
    priority: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    skip_special_tokens: false,
    stream: true,
    stream_options: { include_usage: true },
  });
  assert.ok(Number.isSafeInteger(seed) && typeof salt === "string");
  assert.match(salt, /^[0-9a-f]{64}$/);
});

test("shares cached work only within one entity and salt", async (t) => {
  const { stub, engine } = await started(t);
  for (const cacheOwner of ["one", "other"])
    for (const cacheSalt of [null, "a", "b", "a"])
      await read(engine.submit(ask({ cacheOwner, cacheSalt, maxTokens: 1 })));
  const salts = completions(stub).map(({ cache_salt: salt }) => salt);
  assert.equal(new Set(salts).size, 6);
  assert.equal(salts[1], salts[3]);
});

test("reports the cached part of a prompt if the server does", async (t) => {
  for (const promptTokensDetails of [true, false]) {
    const { engine } = await started(t, { stub: { promptTokensDetails } });
    const prompt = Array.from({ length: 60 }, (_, index) =>
      (index * 7) % 60 === 13 ? 14 : (index * 7) % 60,
    );
    const cached = async (id: string) => {
      const { events, failure } = await read(engine.submit(requestOf(prompt, { id, maxTokens: 2 })));
      assert.equal(failure, null);
      assert.equal(events.at(-1)?.kind, "choice-finished");
      return events.flatMap((event) => (event.kind === "prompt-cached" ? [event.cachedTokenCount] : []));
    };
    assert.deepEqual(await cached("first"), []);
    const again = await cached("again");
    if (promptTokensDetails) assert.ok(again.length === 1 && again[0] > 0 && again[0] <= 60, again.join());
    else assert.deepEqual(again, []);
  }
});

test("forwards parameters between servers once, and returns their answer", async (t) => {
  const heldAs = { do_remote_prefill: true, remote_block_ids: [1, 2], remote_host: "10.0.0.1" };
  const { stub, engine } = await started(t, { stub: { heldAs } });
  const passing = (id: string, passed: object) => {
    const request = ask({ id, maxTokens: 2 });
    return { ...request, prompt: { ...request.prompt, passed: { ...passed } } };
  };
  const held = await read(engine.submit(passing("held", { do_remote_decode: true })));
  assert.equal(held.failure, null);
  assert.deepEqual(held.events[0], { kind: "prompt-computed", cachedTokenCount: 0, passed: heldAs });
  const plain = await read(engine.submit(ask({ id: "plain", maxTokens: 2 })));
  assert.deepEqual(held.ids(), plain.ids());
  assert.equal((await read(engine.submit(passing("fetched", heldAs)))).failure, null);
  const [first, second, third] = completions(stub);
  // Streams do not carry the parameters that vLLM returns, so the first request is not streamed.
  assert.deepEqual([first.kv_transfer_params, first.stream], [{ do_remote_decode: true }, undefined]);
  assert.equal("kv_transfer_params" in second, false);
  assert.deepEqual([third.kv_transfer_params, third.stream], [heldAs, true]);
});

test("ends a request at the server when its client leaves", async (t) => {
  const { stub, engine } = await started(t);
  const running = engine.submit(ask({ maxTokens: 500 }));
  for await (const batch of running.events) if (batch.some(({ kind }) => kind === "tokens")) break;
  await until(() => stub.runningCount === 0);
  const aborted = engine.submit(ask({ id: "aborted", maxTokens: 500 }));
  await until(() => completions(stub).length === 2);
  aborted.abort();
  assert.match((await read(aborted)).failure ?? "", /^cancelled/);
  await until(() => stub.runningCount === 0);
});

const stream = "text/event-stream";
const chunk = (more: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, text: "", logprobs: null, finish_reason: null, token_ids: [3], ...more }] })}\n\n`;

/** Writes the pieces in order. Repeats the last one until the connection is closed. */
async function drip(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  for (let place = 0; !response.destroyed; place++) {
    response.write(pieces[Math.min(place, pieces.length - 1)] ?? "");
    await systemClock.sleep(50);
  }
}

/** Faults of a server, and the failures that the engine must report. */
const faults: Readonly<Record<string, { readonly does: StubFault; readonly failure: RegExp }>> = {
  "is too busy": {
    does: (_path, _request, response) => {
      response.writeHead(429, { "retry-after": "7" }).end("{}");
      return true;
    },
    failure: /^overloaded: .*is overloaded/,
  },
  "does not take the key": {
    does: (_path, _request, response) => {
      response.writeHead(401).end(`{"error":"Unauthorized"}`);
      return true;
    },
    failure: /^unavailable: .*key/,
  },
  "refuses the request": {
    does: (_path, _request, response) => {
      response.writeHead(400).end(`{"error":{"message":"min_p must be in [0, 1], got 2.","code":400}}`);
      return true;
    },
    failure: /^unsupported: .*refuses the request: min_p must be in \[0, 1\]/,
  },
  "has an engine that died": {
    does: (_path, _request, response) => {
      response.writeHead(500).end(`{"error":{"message":"EngineCore encountered an issue.","code":500}}`);
      return true;
    },
    failure: /^unavailable: .*failed; try again/,
  },
  redirects: {
    does: (_path, _request, response) => {
      response.writeHead(307, { location: "http://127.0.0.1:9/v1/completions" }).end();
      return true;
    },
    failure: /^unavailable: /,
  },
  "closes the connection": {
    does: (_path, request) => {
      request.socket.destroy();
      return true;
    },
    failure: /^unavailable: .*(broke off|cannot be reached)/,
  },
  "never answers": { does: () => true, failure: /^timeout: .*head of its answer did not come within 3 s/ },
  "falls silent": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).write(chunk({}));
      return true;
    },
    failure: /^timeout: .*next part of its answer did not come within 2 s/,
  },
  "dies within its answer": {
    does: (_path, request, response) => {
      response.writeHead(200, { "content-type": stream }).write(chunk({}), () => request.socket.destroy());
      return true;
    },
    failure: /^unavailable: .*broke off/,
  },
  "closes before its answer ends": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({}));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "ends before a choice does": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(`${chunk({})}data: [DONE]\n\n`);
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "answers garbage": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end("data: <html>\n\n");
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "answers with a token that the model lacks": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({ token_ids: [64] }));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "answers with more than requested": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({ token_ids: [3, 3, 3, 3, 3] }));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "answers with a choice that was not requested": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({ index: 1 }));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "answers with a fraction of a token": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({ token_ids: [3.5] }));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "mixes up two answers": {
    does: (_path, _request, response) => {
      const from = (id: string) => chunk({}).replace("{", `{"id":"${id}",`);
      response.writeHead(200, { "content-type": stream }).end(from("cmpl-1") + from("cmpl-2"));
      return true;
    },
    failure: /^unavailable: .*sent an invalid answer/,
  },
  "keeps its answer open without a token": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).write(chunk({}));
      const pieces = [": still here\n\n", chunk({ token_ids: [] }), "data: {"];
      void drip(response, pieces);
      return true;
    },
    failure: /^timeout: .*sent no token for 2 s, although its answer continued/,
  },
  "gives up a request": {
    does: (_path, _request, response) => {
      response.writeHead(200, { "content-type": stream }).end(chunk({ finish_reason: "abort" }));
      return true;
    },
    failure: /^unavailable: .*ended the request/,
  },
};

for (const [what, { does, failure }] of Object.entries(faults)) {
  test(`fails only the request at a server that ${what}, without naming an address`, async (t) => {
    const { stub, engine } = await started(t, {
      // The timeouts are long enough that a busy machine still answers the next request in time.
      settings: { firstTokenSeconds: 3, nextTokenSeconds: 2 },
    });
    stub.fault = (path, request, response) => path === "/v1/completions" && does(path, request, response);
    const { failure: told } = await read(engine.submit(ask({ maxTokens: 4 })));
    assert.match(told ?? "", failure);
    assert.doesNotMatch(told ?? "", /127\.0\.0\.1/);
    stub.fault = () => false;
    assert.equal((await read(engine.submit(ask({ maxTokens: 4 })))).failure, null);
    assert.equal(engine.status().runningCount, 0);
  });
}

test("probes a server that is away, and uses it again when it is back", async (t) => {
  const { stub, engine } = await started(t);
  stub.fault = (_path, request) => {
    request.socket.destroy();
    return true;
  };
  await until(() => engine.status().state.kind === "restarting");
  assert.throws(() => engine.submit(ask()), { code: "unavailable", message: /No vLLM server/ });
  stub.fault = () => false;
  await until(() => engine.status().state.kind === "ready");
  assert.equal((await read(engine.submit(ask()))).failure, null);
});

test("starts without a server that does not answer in time, and finds it later", async (t) => {
  const { stub, engine } = await setUp(t, { settings: { startSeconds: 0.1 } });
  stub.fault = (_path, _request, response) => {
    response.writeHead(503).end();
    return true;
  };
  await engine.start();
  assert.equal(engine.status().state.kind, "restarting");
  stub.fault = () => false;
  await until(() => engine.status().state.kind === "ready");
});

test("refuses to start with another version or another model, naming the server", async (t) => {
  const check = async (given: Given, error: object): Promise<void> => {
    const { engine } = await setUp(t, given);
    await assert.rejects(engine.start(), error);
    assert.equal(engine.status().state.kind, "failed");
  };
  const named = /^The vLLM server http:\/\/127\.0\.0\.1:\d+: /;
  await check(
    { stub: { version: "0.31.9" } },
    { code: "unsupported", message: /It is vLLM 0\.31\.9; 0\.32 or newer/ },
  );
  await check({ stub: { version: "0.31.9" } }, { message: named });
  await check({ stub: { vocabularySize: 63 } }, { code: "conflict", message: /63 token ids.*with 64/ });
  for (const version of ["0.33.0rc1.dev2+g01234", "v1.0.0"]) {
    const { engine } = await setUp(t, { stub: { version } });
    await engine.start();
  }
});

test("sends its key and never shows it", async (t) => {
  const { engine } = await started(t, { stub: { key: "secret" }, settings: { apiKey: "secret" } });
  assert.equal((await read(engine.submit(ask()))).failure, null);
});

test("gives no more log-probabilities than the server does", async (t) => {
  const { engine } = await started(t, { stub: { logprobCountMax: 5 } });
  const limits = (of: Engine) => {
    const { state } = of.status();
    return state.kind === "ready" ? state.limits : null;
  };
  assert.deepEqual(limits(engine), { contextLength, vocabularySize, logprobCountMax: 5 });
  assert.throws(() => engine.submit(ask({ topLogprobCount: 6 })), {
    code: "unsupported",
    message: /asks for 6.*gives 5/,
  });
  assert.equal((await read(engine.submit(ask({ topLogprobCount: 5 })))).failure, null);
});

test("refuses combinations that vLLM answers wrongly", async (t) => {
  const { engine } = await started(t);
  const refused = (more: ShortRequest, message: RegExp): void => {
    assert.throws(() => engine.submit(ask(more)), { code: "unsupported", message });
  };
  const options = { allowsAnyWhitespace: true, whitespacePattern: null, allowsAdditionalProperties: true };
  const constraint = { kind: "choice", choices: ["a"], ...options } as const;
  refused({ sampling: { temperature: 2.1 } }, /temperature is 2\.1; .* at most 2\./);
  refused({ constraint, minTokens: 1 }, /min-tokens together with a constraint/);
  refused({ constraint: { kind: "grammar", text: "", isInJson: true, ...options } }, /within JSON strings/);
});
