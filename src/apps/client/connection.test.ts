import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Connection, type ConnectionOptions, type Request } from "./connection.ts";
import { HoneError } from "./hone-error.ts";
import { fakePlatform } from "./testing/fake-platform.ts";
import { scriptedFetch } from "./testing/fake-fetch.ts";

const get: Request = { method: "GET", path: "/x", isRepeatable: true };
const post: Request = { method: "POST", path: "/x", body: {}, isRepeatable: false };

async function withServer(answer: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Safe cast: a server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers });

/** Returns the number of attempts, the waits between them, and the result. */
async function outcome(
  request: Request,
  fetch: ReturnType<typeof scriptedFetch>,
  options: ConnectionOptions = {},
) {
  const platform = fakePlatform();
  const connection = new Connection({ baseUrl: "http://host", fetch, ...options }, platform);
  const result = await connection.open(request).then(
    (answer) => answer.text(),
    (error: unknown) => (error instanceof HoneError ? error.code : Promise.reject(error as Error)),
  );
  return { sent: fetch.requests.length, waits: platform.waits, result };
}

test("accepts a base URL that ends with /v1 or a slash, and sends the key", async () => {
  for (const baseUrl of ["http://host", "http://host/", "http://host/v1", "http://host/v1/"]) {
    const fetch = scriptedFetch(json(200, {}));
    const query = { a: 1, b: null, c: ["d", "e f"] };
    await outcome({ ...get, query }, fetch, { baseUrl, apiKey: "k" });
    const [sent] = fetch.requests;
    assert.equal(sent?.url, "http://host/x?a=1&c=d&c=e+f");
    assert.equal(new Headers(sent.request.headers).get("authorization"), "Bearer k");
  }
  const fetch = scriptedFetch(json(200, {}));
  await outcome({ ...get, scheme: "basic" }, fetch, { apiKey: "k" });
  assert.equal(
    new Headers(fetch.requests[0]?.request.headers).get("authorization"),
    `Basic ${btoa("api:k")}`,
  );
});

test("sets the content type of a JSON body, and none without a body", async () => {
  const fetch = scriptedFetch(json(200, {}));
  await outcome(post, fetch);
  await outcome({ ...get, method: "DELETE" }, fetch);
  const types = fetch.requests.map(({ request }) => new Headers(request.headers).get("content-type"));
  assert.deepEqual(types, ["application/json", null]);
});

test("reads base URL and key from the environment by default", () => {
  const both = { HONE_BASE_URL: "http://one", HONE_URL: "http://two", HONE_API_KEY: "k" };
  const made = (options: ConnectionOptions, environment: Readonly<Record<string, string>>) => {
    const { baseUrl, apiKey } = new Connection(options, fakePlatform(environment));
    return [baseUrl, apiKey];
  };
  assert.deepEqual(made({}, both), ["http://one", "k"]);
  assert.deepEqual(made({}, { HONE_URL: "http://two" }), ["http://two", null]);
  assert.deepEqual(made({ baseUrl: "http://own", apiKey: null }, both), ["http://own", null]);
  assert.deepEqual(made({}, {}), ["http://127.0.0.1:8000", null]);
});

test("accepts baseURL for baseUrl, and refuses an unknown option", () => {
  const made = (options: object): Connection => new Connection(options, fakePlatform());
  assert.equal(made({ baseURL: "http://host/v1" }).baseUrl, "http://host");
  assert.equal(made({ baseURL: "http://host", baseUrl: "http://host" }).baseUrl, "http://host");
  assert.equal(made({ baseURL: "http://host", baseurl: undefined }).baseUrl, "http://host");
  const refusals: readonly (readonly [object, string])[] = [
    [
      { baseURL: "http://one", baseUrl: "http://two" },
      'baseUrl is "http://two" and baseURL is "http://one"; give only one of them.',
    ],
    [{ base_url: "http://one" }, "Hone has no option base_url; did you mean baseUrl?"],
    [{ apikey: "k" }, "Hone has no option apikey; did you mean apiKey?"],
    [
      { url: "http://one" },
      "Hone has no option url; it has baseUrl, baseURL, apiKey, timeout, retries, headers, fetch.",
    ],
  ];
  for (const [options, message] of refusals)
    assert.throws(() => made(options), { name: "HoneError", code: "invalid", message });
});

test("refuses an invalid base URL before any request", () => {
  for (const baseUrl of ["abc", "", "127.0.0.1:8000", "file:///etc"]) {
    assert.throws(
      () => new Connection({ baseUrl }, fakePlatform()),
      (error: unknown) => {
        assert.ok(error instanceof HoneError);
        assert.deepEqual([error.status, error.code, error.param], [0, "invalid", "baseUrl"]);
        assert.ok(error.message.startsWith(`${JSON.stringify(baseUrl)} is not a server address`));
        return true;
      },
    );
  }
});

test("throws an error with the server's message, and the id under which the server's log has the request", async () => {
  const fault = { loc: ["body", "max_tokens"], msg: "It is 0; at least 1.", type: "greater_than_equal" };
  const body = { detail: [fault], error: { message: "It is 0.", param: "max_tokens", code: "invalid" } };
  const fetch = scriptedFetch(json(422, body, { "x-request-id": "r1" }));
  const connection = new Connection({ baseUrl: "http://host", fetch }, fakePlatform());
  await assert.rejects(connection.open(post), (error) => {
    assert.ok(error instanceof HoneError);
    const { message, status, code, param, requestId, faults, retryAfterSeconds } = error;
    assert.deepEqual(
      { message, status, code, param, requestId, faults, retryAfterSeconds },
      {
        message: "422: It is 0.",
        status: 422,
        code: "invalid",
        param: "max_tokens",
        requestId: "r1",
        faults: [fault],
        retryAfterSeconds: null,
      },
    );
    assert.deepEqual(error.body, body);
    return true;
  });
});

test("uses the answer's text as the message if the answer comes from another program", async () => {
  for (const [text, message] of [
    ["<h1>Bad gateway</h1>", "400: <h1>Bad gateway</h1>"],
    ["null", "400: null"],
    ["7", "400: 7"],
  ] as const) {
    const fetch = scriptedFetch(new Response(text, { status: 400 }));
    const connection = new Connection({ baseUrl: "http://host", fetch }, fakePlatform());
    await assert.rejects(connection.open(get), { name: "HoneError", code: "unknown", message });
  }
});

test("retries a safe call with increasing waits until it succeeds or has no attempts left", async () => {
  const lost = new TypeError("fetch failed", { cause: new Error("connection refused") });
  const ok = json(200, "ok");
  const down = json(503, { error: { code: "unavailable", message: "down", param: null } });
  assert.deepEqual(await outcome(get, scriptedFetch(lost, ok)), { sent: 2, waits: [500], result: '"ok"' });
  assert.deepEqual(await outcome(get, scriptedFetch(down, down, ok)), {
    sent: 3,
    waits: [500, 1000],
    result: '"ok"',
  });
  assert.deepEqual(await outcome(get, scriptedFetch(lost)), {
    sent: 3,
    waits: [500, 1000],
    result: "connection",
  });
  const often = await outcome(get, scriptedFetch(lost), { retries: 7 });
  assert.deepEqual(often.waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
  assert.deepEqual(await outcome(get, scriptedFetch(lost), { retries: 0 }), {
    sent: 1,
    waits: [],
    result: "connection",
  });
});

test("retries an unsafe call only if the server reports that it has not started the request", async () => {
  const busy = (headers = {}) =>
    json(429, { error: { code: "overloaded", message: "", param: null } }, headers);
  const failed = json(500, { error: { code: "internal", message: "", param: null } });
  const ok = json(200, 1);
  assert.deepEqual((await outcome(post, scriptedFetch(failed, ok))).result, "internal");
  assert.deepEqual((await outcome(post, scriptedFetch(new TypeError("lost"), ok))).result, "connection");
  assert.deepEqual(await outcome(post, scriptedFetch(busy(), ok)), { sent: 2, waits: [500], result: "1" });
  assert.deepEqual(await outcome(post, scriptedFetch(busy({ "retry-after": "7" }), ok)), {
    sent: 2,
    waits: [7000],
    result: "1",
  });
  // A wait that long is left to the caller.
  assert.deepEqual(await outcome(post, scriptedFetch(busy({ "retry-after": "61" }), ok)), {
    sent: 1,
    waits: [],
    result: "overloaded",
  });
});

test("does not retry an error that would recur", async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422]) {
    const { sent } = await outcome(get, scriptedFetch(json(status, {})));
    assert.equal(sent, 1, String(status));
  }
});

test("retries an upload of a Blob, but not of a stream", async () => {
  const busy = json(429, {});
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
  }
  const sent = async (content: Blob | AsyncIterable<Uint8Array>): Promise<number> => {
    const upload = { type: "application/x-tar", content };
    return (await outcome({ ...post, body: undefined, upload }, scriptedFetch(busy))).sent;
  };
  assert.deepEqual([await sent(pieces()), await sent(new Blob(["a"]))], [1, 3]);
});

test("names an unreachable server in the error, and throws the caller's abort reason unchanged", async () => {
  let address = "";
  await withServer(
    () => undefined,
    async (baseUrl) => {
      address = baseUrl;
      const controller = new AbortController();
      const waiting = new Connection({ baseUrl }).open({ ...get, signal: controller.signal });
      controller.abort();
      await assert.rejects(waiting, { name: "AbortError" });
    },
  );
  await assert.rejects(new Connection({ baseUrl: address }, fakePlatform()).open(get), (error) => {
    assert.ok(error instanceof HoneError && error.status === 0 && error.code === "connection");
    assert.match(
      error.message,
      /^No answer from http:\/\/127\.0\.0\.1:\d+ \(.+\)\. Is the server running there\? HONE_BASE_URL sets another address\.$/,
    );
    return true;
  });
});

test("times out if the server sends nothing, before or within its answer", async () => {
  const isTimeout = (error: unknown): boolean =>
    error instanceof HoneError && error.code === "timeout" && /was silent for 0.02 s/.test(error.message);
  await withServer(
    () => undefined,
    async (baseUrl) => {
      await assert.rejects(new Connection({ baseUrl, timeout: 20 }).open(get), isTimeout);
    },
  );
  const begun = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(5)) });
  const fetch = scriptedFetch(new Response(begun));
  const pieces = (await new Connection({ baseUrl: "http://host", fetch, timeout: 20 }).open(get)).bytes();
  assert.equal((await pieces.next()).value?.length, 5);
  await assert.rejects(pieces.next(), isTimeout);
});

test("throws an error for a truncated answer", async () => {
  await withServer(
    (_, response) => {
      response.writeHead(200, { "content-length": "100" }).write("begun");
      setImmediate(() => response.destroy());
    },
    async (baseUrl) => {
      const answer = await new Connection({ baseUrl }).open(get);
      await assert.rejects(answer.text(), { name: "HoneError", code: "connection" });
    },
  );
});

test("closes the connection if the caller stops reading the answer", async () => {
  let onClosed = (): void => undefined;
  const closed = new Promise<void>((resolve) => (onClosed = resolve));
  await withServer(
    (_, response) => {
      response.on("close", onClosed);
      response.writeHead(200).write("begun");
    },
    async (baseUrl) => {
      for await (const piece of (await new Connection({ baseUrl }).open(get)).bytes()) {
        assert.equal(piece.length, 5);
        break;
      }
      await closed;
    },
  );
});

test("stops the producer of an upload if the server does not accept it", async () => {
  const upload = () => {
    let state = "not begun";
    async function* pieces(): AsyncGenerator<Uint8Array> {
      state = "begun";
      try {
        for (;;) yield new Uint8Array(1000);
      } finally {
        state = "ended";
      }
    }
    return { type: "application/x-tar", content: pieces(), state: () => state };
  };
  const ended = async (baseUrl: string): Promise<string> => {
    const { state, ...given } = upload();
    const sent = new Connection({ baseUrl }).open({ ...post, body: undefined, upload: given });
    await assert.rejects(sent, HoneError);
    // The producer completes its current chunk, then ends.
    for (let turn = 0; turn < 100 && state() === "begun"; turn++) await new Promise(setImmediate);
    return state();
  };
  const nobody = createServer();
  await new Promise<void>((resolve) => nobody.listen(0, "127.0.0.1", resolve));
  const { port } = nobody.address() as AddressInfo;
  await new Promise((resolve) => nobody.close(resolve));
  assert.equal(await ended(`http://127.0.0.1:${port}`), "ended");
  await withServer(
    (_, response) => void response.writeHead(401, { connection: "close" }).end("{}"),
    async (url) => assert.equal(await ended(url), "ended"),
  );
});
