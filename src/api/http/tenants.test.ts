// Clients with and without a key, over real connections. They declare larger bodies than they send.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { newUuid } from "../../base/domain/random.ts";
import { transferPath } from "../../inference/kv-transfer/fetch-prompt.ts";
import { transferScheme } from "../../inference/kv-transfer/signature.ts";
import { basic, bearer, fakeServer, keys, registeredModel } from "./testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

const mebibyte = 1 << 20;

async function listening(t: TestContext, options: Parameters<typeof fakeServer>[0] = {}): Promise<Server> {
  const server = await fakeServer(options);
  t.after(() => server.close());
  await server.app.listen({ port: 0, host: "127.0.0.1" });
  return server;
}

interface Announced {
  readonly method?: string;
  readonly path: string;
  readonly authorization?: string;
  readonly bytes: number;
  /** Beginning of the body; the client sends nothing more. */
  readonly sent?: string;
}

function open(
  { app }: Server,
  { method = "POST", path, authorization, bytes, sent = "" }: Announced,
): Socket {
  const socket = connect({ port: Number(new URL(app.listeningOrigin).port), host: "127.0.0.1" });
  const head = [
    `${method} ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    "content-type: application/json",
    `content-length: ${bytes}`,
  ];
  socket.on("error", () => undefined).write(`${head.join("\r\n")}\r\n\r\n${sent}`);
  return socket;
}

/** Returns the status of the answer. The answer must arrive although the rest of the body does not. */
async function statusOf(server: Server, announced: Announced): Promise<number> {
  const socket = open(server, announced);
  try {
    for await (const piece of socket) return Number(/^HTTP\/1\.1 (\d+)/.exec(String(piece))?.[1]);
    throw new Error("no answer");
  } finally {
    socket.destroy();
  }
}

/** Returns every API operation that may have a body. */
async function operations(server: Server): Promise<readonly { method: string; path: string }[]> {
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<{
    paths: Record<string, object>;
  }>();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== "get" && method !== "head")
      .map((method) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, newUuid()) })),
  );
}

test("waits on no route for the body of a client without a valid key", async (t) => {
  const server = await listening(t);
  const all = await operations(server);
  assert.ok(all.length > 40, String(all.length));
  for (const { method, path } of all) {
    const status = await statusOf(server, { method, path, bytes: mebibyte, sent: "{" });
    assert.equal(status, path === transferPath ? 404 : 401, `${method} ${path}`);
    const unknown = { method, path, bytes: 400 * mebibyte, authorization: "Bearer hone_wrong" };
    assert.ok([401, 404, 429].includes(await statusOf(server, unknown)), `${method} ${path}`);
  }
});

test("refuses another entity's model before it reads the body", async (t) => {
  const server = await listening(t);
  const modelId = await registeredModel(server);
  const about = { bytes: 200 * mebibyte, authorization: bearer(keys.other) };
  const log = `/v1/preview/models/${modelId}/log`;
  assert.equal(await statusOf(server, { ...about, path: log }), 403);
  assert.equal(await statusOf(server, { ...about, path: log.replace(modelId, newUuid()) }), 404);
  const jobs = "/v1/preview/training-jobs";
  const sent = `{"model_id":"${modelId}","trajectory_groups":[`;
  assert.equal(await statusOf(server, { ...about, path: jobs, sent }), 403);
});

test("accepts a signed prompt request only up to 4 KiB", async (t) => {
  const exchange = { open: async () => null };
  const server = await listening(t, {
    wrap: (dependencies) => ({
      ...dependencies,
      exchange,
    }),
  });
  const about = { path: transferPath, bytes: mebibyte };
  assert.equal(await statusOf(server, about), 401);
  assert.equal(await statusOf(server, { ...about, authorization: bearer() }), 401);
  const authorization = `${transferScheme} ${"0".repeat(64)}`;
  assert.equal(await statusOf(server, { ...about, authorization }), 413);
  const body = JSON.stringify({ handle: "h", entity: "e" });
  assert.equal(await statusOf(server, { ...about, authorization, bytes: body.length, sent: body }), 404);
});

test("admits other bodies while large declared ones arrive slowly", async (t) => {
  const server = await listening(t);
  const modelId = await registeredModel(server);
  const sent = `{"model_id":"${modelId}","trajectory_groups":[`;
  const slow = [
    ...Array.from({ length: 8 }, () => ({ path: "/v1/preview/training-jobs", bytes: 256 * mebibyte, sent })),
    ...Array.from({ length: 64 }, () => ({ path: "/v1/chat/completions", bytes: 16 * mebibyte, sent: "{" })),
  ].map((one) => open(server, { ...one, authorization: bearer(keys.member) }));
  const feedback = { path: "/feedback/batch/create", authorization: basic(keys.member), sent: "{" };
  for (let count = 0; count < 64; count++) slow.push(open(server, { ...feedback, bytes: 32 * mebibyte }));
  t.after(() => slow.forEach((socket) => socket.destroy()));
  const bodyBytes = async (): Promise<number> => {
    const { body } = await server.app.inject({ method: "GET", url: "/metrics" });
    return Number(/^hone_http_body_bytes (\d+)$/m.exec(body)?.[1]);
  };
  while ((await bodyBytes()) < 8 * sent.length + 128) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const key of [keys.other, keys.member]) {
    for (const content of ["Hi", "x".repeat(mebibyte)]) {
      const answer = await server.ask({
        method: "POST",
        url: "/v1/chat/completions",
        headers: { authorization: bearer(key) },
        payload: { messages: [{ role: "user", content }] },
      });
      assert.equal(answer.statusCode, 200, answer.body.slice(0, 500));
    }
  }
});
