// Tests which answers are compressed, and what a client that stops reading or a failing source does to them. Node's
// fetch decompresses answers, as the clients of other makers do.
import assert from "node:assert/strict";
import { get, type IncomingHttpHeaders } from "node:http";
import { test, type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { fastify } from "fastify";
import { sendPieces } from "../paced-answer.ts";
import { compressAnswers } from "./compress-answers.ts";

const rows = Array.from({ length: 200 }, (_, index) => ({ id: `row ${index}`, reward: index / 7 }));
const text = JSON.stringify({ data: rows });
const settings = { idleStreamSeconds: 60 };

async function listening(context: TestContext) {
  const seen = { isOver: false };
  const app = fastify({ forceCloseConnections: true, exposeHeadRoutes: true });
  compressAnswers(app);
  const json = "application/json; charset=utf-8";
  app.get("/whole", (_, reply) => reply.type(json).header("vary", "Origin").send(text));
  app.get("/short", () => ({ status: "ok" }));
  app.get("/encoded", (_, reply) => reply.type(json).header("content-encoding", "br").send(text));
  app.get("/tagged", (_, reply) => reply.type(json).header("etag", '"1"').send(text));
  app.get("/empty", (_, reply) => reply.code(304).send());
  app.post("/key", (_, reply) => reply.type(json).send(text));
  app.all("/pieces", (_, reply) =>
    sendPieces(reply.type(json), [text.slice(0, 90), text.slice(90)], settings),
  );
  app.get("/archive", (_, reply) => sendPieces(reply.type("application/x-tar"), [text], settings));
  app.get("/broken", (_, reply) => sendPieces(reply.type(json), broken(), settings));
  app.get("/endless", (_, reply) => sendPieces(reply.type(json), endless(seen), settings));
  context.after(() => app.close());
  return { url: await app.listen({ port: 0, host: "127.0.0.1" }), seen };
}

async function* broken(): AsyncGenerator<string, void> {
  for (let count = 0; count < 20; count++) yield noise();
  throw new Error("The row was deleted.");
}

async function* endless(seen: { isOver: boolean }): AsyncGenerator<string, void> {
  try {
    for (;;) yield noise();
  } finally {
    seen.isOver = true;
  }
}

/** Returns text that compression hardly shortens, so that the client receives some of it at once. */
const noise = (): string => Array.from({ length: 4000 }, () => Math.random().toString(36)).join("");

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Sends a request as a client that does not decompress. */
function ask(
  url: string,
  headers: Readonly<Record<string, string>> = { "accept-encoding": "gzip" },
  method = "GET",
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, method }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({ status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(parts) }),
      );
    });
    request.on("error", reject);
    request.end();
  });
}

test("compresses a long answer with its new length, and says on what the answer depends", async (context) => {
  const { url } = await listening(context);
  const { headers, bytes } = await ask(`${url}/whole`);
  assert.equal(headers["content-encoding"], "gzip");
  assert.equal(headers["vary"], "Origin, accept-encoding");
  assert.equal(headers["content-length"], String(bytes.length));
  assert.equal(gunzipSync(bytes).toString(), text);
  assert.ok(bytes.length < text.length / 3);
  const streamed = await ask(`${url}/pieces`, { "accept-encoding": "br, gzip;q=0.1" });
  assert.equal(streamed.headers["content-length"], undefined);
  assert.equal(gunzipSync(streamed.bytes).toString(), text);
  assert.equal(await (await fetch(`${url}/pieces`)).text(), text);
});

test("sends the plain text to a client that does not accept gzip, and to a page of another site", async (context) => {
  const { url } = await listening(context);
  const plain: readonly Readonly<Record<string, string>>[] = [
    {},
    { "accept-encoding": "gzip;q=0, identity" },
    { "accept-encoding": "br" },
    { "accept-encoding": "gzip", "sec-fetch-site": "cross-site" },
  ];
  for (const headers of plain)
    for (const path of ["/whole", "/pieces"]) {
      const answer = await ask(url + path, headers);
      assert.equal(answer.headers["content-encoding"], undefined);
      assert.match(answer.headers["vary"] ?? "", /accept-encoding$/);
      assert.equal(answer.bytes.toString(), text);
    }
});

test("does not change short, encoded and tagged answers, archives, and answers that may contain a new key", async (context) => {
  const { url } = await listening(context);
  for (const path of ["/short", "/tagged", "/archive"])
    assert.equal((await ask(url + path)).headers["content-encoding"], undefined, path);
  assert.equal((await ask(`${url}/encoded`)).bytes.toString(), text);
  assert.deepEqual((await ask(`${url}/empty`)).bytes.length, 0);
  const gzip = { "accept-encoding": "gzip" };
  assert.equal((await ask(`${url}/key`, gzip, "POST")).bytes.toString(), text);
  assert.equal(gunzipSync((await ask(`${url}/pieces`, gzip, "POST")).bytes).toString(), text);
});

test("answers HEAD with the headers of the compressed answer", async (context) => {
  const { url } = await listening(context);
  const [head, whole] = [await ask(`${url}/whole`, undefined, "HEAD"), await ask(`${url}/whole`)];
  for (const name of ["content-encoding", "content-length", "vary"])
    assert.equal(head.headers[name], whole.headers[name]);
  assert.equal(head.bytes.length, 0);
});

test("stops the source of an answer when its client disconnects", async (context) => {
  const { url, seen } = await listening(context);
  await new Promise<void>((resolve, reject) => {
    const request = get(`${url}/endless`, { headers: { "accept-encoding": "gzip" } }, (answer) => {
      answer.once("data", () => {
        answer.destroy();
        resolve();
      });
    });
    request.on("error", reject);
  });
  while (!seen.isOver) await new Promise((resolve) => setImmediate(resolve));
});

test("lets a client see that a compressed answer broke off", async (context) => {
  const { url } = await listening(context);
  const answer = await fetch(`${url}/broken`);
  assert.equal(answer.headers.get("content-encoding"), "gzip");
  await assert.rejects(answer.text());
});
