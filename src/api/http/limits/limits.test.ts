// Rate limits over HTTP: response headers, counted requests and tokens, and refusals.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import OpenAI, { RateLimitError } from "openai";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import {
  basic,
  bearer,
  fakeServer,
  helloBody,
  keys,
  type FakeServerOptions,
} from "../testing/fake-server.ts";

const chats = "/v1/chat/completions";

async function limitedServer(t: TestContext, options: FakeServerOptions = {}) {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, ...options });
  t.after(() => server.close());
  const post = (key: string, url: string, payload: object) =>
    server.ask({ method: "POST", url, headers: { authorization: bearer(key) }, payload });
  const chat = (key: string, more: object = {}) => post(key, chats, { ...helloBody, ...more });
  const limit = async (key: keyof typeof keys, limits: object): Promise<void> => {
    const answer = await post(keys.admin, `/v1/preview/keys/${key}`, limits);
    assert.equal(answer.statusCode, 200, answer.body);
  };
  return { server, clock, post, chat, limit };
}

/** Returns the rate limit headers, named without the prefix `x-ratelimit-`. */
function standingIn(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const prefix = "x-ratelimit-";
  const own = Object.entries(headers).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

test("shows a key's limits in each answer, and refuses further requests with a retry time", async (t) => {
  const { server, clock, chat, limit } = await limitedServer(t);
  assert.deepEqual(standingIn((await chat(keys.member)).headers), {});
  await limit("member", { requests_per_minute: 3 });
  for (const [remaining, more] of [
    ["2", {}],
    ["1", { stream: true }],
    // An invalid request counts, too, because it is counted before its body is read.
    ["0", { messages: 7 }],
  ] as const) {
    const { "limit-requests": all, "remaining-requests": left } = standingIn(
      (await chat(keys.member, more)).headers,
    );
    assert.deepEqual([all, left], ["3", remaining]);
  }
  const refused = await chat(keys.member);
  assert.equal(refused.statusCode, 429);
  const standing = standingIn(refused.headers);
  assert.equal(standing["remaining-requests"], "0");
  assert.match(String(standing["reset-requests"]), /^1m\d+s$/);
  const wait = Number(refused.headers["retry-after"]);
  assert.ok(wait > 0 && wait <= 70);
  const { error } = refused.json();
  assert.deepEqual([error.type, error.code], ["rate_limit_error", "overloaded"]);
  assert.match(
    error.message,
    /^This key may send 3 requests a minute and has sent them\. Try again in \d+ s\.$/,
  );
  // Only requests that run models count, and only towards the limits of their own key.
  const headers = { authorization: bearer(keys.member) };
  assert.equal((await server.ask({ method: "GET", url: "/v1/models", headers })).statusCode, 200);
  const query = { project_id: "acme/p" };
  const feedback = { method: "POST", url: "/feedback/query", payload: query } as const;
  assert.equal(
    (await server.ask({ ...feedback, headers: { authorization: basic(keys.member) } })).statusCode,
    200,
  );
  assert.equal((await chat(keys.other)).statusCode, 200);
  await clock.advance(wait * 1000);
  assert.equal((await chat(keys.member)).statusCode, 200);
});

test("counts requests of all keys of an entity together, towards its own limit or the default", async (t) => {
  const entityLimits = {
    requestsPerMinute: 2,
    tokensPerMinute: null,
    concurrentRequests: null,
    queuePercent: null,
    queuedJobs: null,
  };
  const { chat, post, limit } = await limitedServer(t, { entityLimits });
  const { key } = (await post(keys.admin, "/v1/preview/keys", { entity: "acme" })).json();
  await limit("member", { requests_per_minute: 100 });
  assert.equal(standingIn((await chat(keys.member)).headers)["limit-requests"], "2", "the tightest is told");
  assert.equal((await chat(key)).statusCode, 200);
  assert.match((await chat(key)).json().error.message, /^The entity "acme" may send 2 requests a minute/);
  assert.equal((await chat(keys.other)).statusCode, 200);
  const own = "/v1/preview/entities/acme/limits";
  const changed = await post(keys.admin, own, { requests_per_minute: 3, queued_jobs: 1 });
  assert.deepEqual(changed.json(), {
    entity: "acme",
    requests_per_minute: 3,
    tokens_per_minute: null,
    concurrent_requests: null,
    queue_percent: null,
    queued_jobs: 1,
  });
  assert.equal((await chat(key)).statusCode, 200);
  assert.equal((await chat(key)).statusCode, 429);
  await post(keys.admin, own, { requests_per_minute: null });
  assert.equal(standingIn((await chat(key)).headers)["limit-requests"], "2");
});

test("counts requests of users without a key towards their entity's limit", async (t) => {
  const user = {
    keyId: "user:ann",
    entity: "acme",
    role: "member",
    owner: "ann",
    scopes: null,
    project: null,
  } as const;
  const { server, post, limit } = await limitedServer(t, {
    wrap: (dependencies) => ({
      ...dependencies,
      users: {
        ofHeaders: async (headers) => (headers["x-user"] === "ann" ? user : null),
        ofToken: async () => null,
      },
    }),
  });
  await limit("member", { requests_per_minute: 1 });
  const ask = () =>
    server.ask({ method: "POST", url: chats, headers: { "x-user": "ann" }, payload: helloBody });
  assert.deepEqual(standingIn((await ask()).headers), {});
  await post(keys.admin, "/v1/preview/entities/acme/limits", { requests_per_minute: 2 });
  assert.equal(standingIn((await ask()).headers)["remaining-requests"], "1");
  assert.equal((await post(keys.member, chats, helloBody)).statusCode, 200);
  const refused = await ask();
  assert.equal(refused.statusCode, 429);
  assert.match(refused.json().error.message, /^The entity "acme" may send 2 requests a minute/);
});

test("counts tokens once the prompt is known, and returns unused tokens", async (t) => {
  const { server, chat, post, limit } = await limitedServer(t);
  await limit("member", { tokens_per_minute: 100 });
  // At its start, the request counts as its 3 prompt tokens plus its maximum answer length. At its end, it counts as
  // the prompt plus the 2 tokens of the actual answer.
  const first = await chat(keys.member, { max_tokens: 40 });
  assert.deepEqual(
    [standingIn(first.headers)["limit-tokens"], standingIn(first.headers)["remaining-tokens"]],
    ["100", "57"],
  );
  assert.equal(standingIn((await chat(keys.member)).headers)["remaining-tokens"], "92");
  const refused = await chat(keys.member, { max_tokens: 90 });
  assert.equal(refused.statusCode, 429);
  assert.match(refused.json().error.message, /may use 100 tokens a minute; 10 are used .* needs 93/);
  assert.equal(standingIn(refused.headers)["remaining-tokens"], "90");
  // A failed request returns its reserved tokens, too.
  server.chat.script.failure = new Error("broken");
  assert.equal((await chat(keys.member, { max_tokens: 50 })).statusCode, 500);
  server.chat.script.failure = null;
  assert.equal(standingIn((await chat(keys.member)).headers)["remaining-tokens"], "83");
  const embedded = await post(keys.member, "/v1/embeddings", { model: "tiny", input: ["a"] });
  assert.ok(standingIn(embedded.headers)["remaining-tokens"] !== undefined);
});

test("frees the slot of a request whose client disconnects", async (t) => {
  const { server, chat, limit } = await limitedServer(t);
  await limit("member", { concurrent_requests: 1 });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  server.chat.script.hangs = true;
  const aborter = new AbortController();
  const running = await fetch(server.app.listeningOrigin + chats, {
    method: "POST",
    headers: { authorization: bearer(keys.member), "content-type": "application/json" },
    body: JSON.stringify({ ...helloBody, stream: true }),
    signal: aborter.signal,
  });
  const refused = await chat(keys.member);
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers["retry-after"], "1");
  assert.match(refused.json().error.message, /has 1 request being answered, and may have 1/);
  const left = new Promise<void>((resolve) => (server.chat.onAbort = resolve));
  aborter.abort();
  await left;
  await running.body?.cancel().catch(() => undefined);
  server.chat.script.hangs = false;
  assert.equal((await chat(keys.member)).statusCode, 200);
});

test("refuses an invalid limit, and names its path", async (t) => {
  const { server, post } = await limitedServer(t);
  const fault = async (url: string, payload: object) => {
    const answer = await post(keys.admin, url, payload);
    return `${answer.statusCode} ${answer.json().detail[0].loc.join(".")}`;
  };
  assert.equal(await fault("/v1/preview/keys", { queue_percent: 101 }), "422 body.queue_percent");
  assert.equal(
    await fault("/v1/preview/keys/member", { requests_per_minute: 0 }),
    "422 body.requests_per_minute",
  );
  assert.equal(
    await fault("/v1/preview/keys/member", { tokens_per_minute: 1.5 }),
    "422 body.tokens_per_minute",
  );
  const entity = "/v1/preview/entities";
  assert.equal(await fault(`${entity}/acme/limits`, { queued_jobs: -1 }), "422 body.queued_jobs");
  assert.equal(await fault(`${entity}/a%3Ab/limits`, {}), "422 path.entity");
  const headers = { authorization: bearer(keys.member) };
  for (const method of ["GET", "POST"] as const) {
    const payload = method === "POST" ? { payload: {} } : {};
    const answer = await server.ask({ method, url: `${entity}/acme/limits`, headers, ...payload });
    assert.equal(answer.statusCode, 403);
  }
});

test("makes OpenAI's client wait as long as the retry-after header says", async (t) => {
  const { server, clock, limit, chat } = await limitedServer(t);
  await limit("member", { requests_per_minute: 2 });
  await chat(keys.member);
  await clock.advance(30_000);
  await chat(keys.member);
  await clock.advance(10_000);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const answers: { readonly status: number; readonly wait: number }[] = [];
  let onAnswer: () => void = () => undefined;
  const nextAnswer = () => new Promise<void>((resolve) => (onAnswer = resolve));
  const client = new OpenAI({
    apiKey: keys.member,
    baseURL: "http://host/v1",
    maxRetries: 1,
    fetch: async (_url, init) => {
      const headers = Object.fromEntries(new Headers(init?.headers ?? {}));
      const answer = await server.app.inject({
        method: "POST",
        url: chats,
        headers,
        payload: typeof init?.body === "string" ? init.body : "",
      });
      answers.push({ status: answer.statusCode, wait: Number(answer.headers["retry-after"]) });
      queueMicrotask(onAnswer);
      return new Response(answer.body, {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
      });
    },
  });
  const refused = nextAnswer();
  const asked = client.chat.completions.create({
    model: "tiny",
    messages: [{ role: "user", content: "Hi" }],
  });
  await refused;
  const [{ status, wait } = { status: 0, wait: 0 }] = answers;
  assert.equal(status, 429);
  assert.ok(wait > 20 && wait <= 40, String(wait));
  await clock.advance(wait * 1000);
  const answered = nextAnswer();
  // Waits one iteration of the event loop, in which the client reads the refusal and starts its retry timer.
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(wait * 1000 - 1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(answers.length, 1, "it is not sent again before");
  t.mock.timers.tick(1);
  await answered;
  assert.equal((await asked).choices[0]?.message.content, "Hello");
  const impatient = client.chat.completions.create(
    { model: "tiny", messages: [{ role: "user", content: "Hi" }] },
    { maxRetries: 0 },
  );
  await assert.rejects(impatient, RateLimitError);
});
