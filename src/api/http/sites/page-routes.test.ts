import assert from "node:assert/strict";
import { test } from "node:test";
import { fastify } from "fastify";
import type { SiteFile, SiteFiles } from "../../../base/domain/site-files.ts";
import { pageRoutes } from "./page-routes.ts";

const fileOf = (contentType: string, text: string): SiteFile => ({
  contentType,
  bytes: { identity: Buffer.from(text), gzip: Buffer.from(`gzip ${text}`), br: Buffer.from(`br ${text}`) },
});

const page: SiteFiles = new Map([
  ["index.html", fileOf("text/html", "<p>")],
  ["assets/hone-1.js", fileOf("text/javascript", "1")],
]);

const serverWith = (files: SiteFiles) => {
  const app = fastify();
  pageRoutes(app, { page: async () => files });
  return app;
};

test("sends the page in the smallest encoding that the browser accepts", async () => {
  const app = serverWith(page);
  const bodyFor = async (accepted: string): Promise<string> =>
    (await app.inject({ url: "/assets/hone-1.js", headers: { "accept-encoding": accepted } })).body;
  assert.equal(await bodyFor("gzip, deflate, br"), "br 1");
  assert.equal(await bodyFor("gzip;q=1.0, br;q=0"), "gzip 1");
  assert.equal(await bodyFor(""), "1");
});

test("lets browsers revalidate the page, and cache its files forever", async () => {
  const app = serverWith(page);
  const first = await app.inject("/");
  assert.equal(first.statusCode, 200);
  assert.match(String(first.headers["content-security-policy"]), /default-src 'none'; script-src 'self'/);
  const again = await app.inject({ url: "/", headers: { "if-none-match": String(first.headers.etag) } });
  assert.deepEqual([again.statusCode, again.body], [304, ""]);
  const asset = await app.inject("/assets/hone-1.js");
  assert.match(String(asset.headers["cache-control"]), /immutable/);
});

test("says whether a file does not exist or the page was not built", async () => {
  const missing = await serverWith(page).inject("/assets/hone-2.js");
  assert.match(missing.json<{ message: string }>().message, /no such file/);
  const unbuilt = await serverWith(new Map()).inject("/");
  assert.match(unbuilt.json<{ message: string }>().message, /was not built.*npm run build/);
});

test("answers clients of Ollama, which accept no HTML, in Ollama's words", async () => {
  const app = serverWith(page);
  const ask = async (accept: string): Promise<string> =>
    (await app.inject({ url: "/", headers: { accept } })).body;
  assert.equal(await ask("application/json"), "Ollama is running");
  for (const accept of ["*/*", "text/html,application/json;q=0.9"]) assert.equal(await ask(accept), "<p>");
});
