import assert from "node:assert/strict";
import { test } from "node:test";
import { fastify, type FastifyInstance } from "fastify";
import type { SiteFile, SiteFiles } from "../../../base/domain/site-files.ts";
import { guideRoutes } from "./guide-routes.ts";

const html = (text: string): SiteFile => ({
  contentType: "text/html; charset=utf-8",
  bytes: { identity: Buffer.from(text), br: Buffer.from(`br ${text}`) },
});

const guide = new Map([
  ["index.html", html("first")],
  ["guides/keys.html", html("keys")],
]);

function serverWith(files: SiteFiles): FastifyInstance {
  const app = fastify();
  guideRoutes(app, { guide: async () => files });
  return app;
}

test("serves the first page at /guide/, other pages by their paths, and redirects /guide", async () => {
  const app = serverWith(guide);
  assert.equal((await app.inject("/guide/")).body, "first");
  const keys = await app.inject("/guide/guides/keys.html");
  assert.equal(keys.body, "keys");
  assert.match(String(keys.headers["content-security-policy"]), /default-src 'none'/);
  const redirect = await app.inject("/guide");
  assert.deepEqual([redirect.statusCode, redirect.headers.location], [308, "/guide/"]);
});

test("compresses a page if the browser accepts that, and does not send a page that has not changed", async () => {
  const app = serverWith(guide);
  const first = await app.inject({ url: "/guide/", headers: { "accept-encoding": "gzip, br" } });
  assert.deepEqual([first.body, first.headers["content-encoding"]], ["br first", "br"]);
  const plain = await app.inject({ url: "/guide/", headers: { "accept-encoding": "gzip" } });
  assert.deepEqual([plain.body, plain.headers["content-encoding"]], ["first", undefined]);
  const again = await app.inject({
    url: "/guide/",
    headers: { "if-none-match": String(first.headers.etag) },
  });
  assert.deepEqual([again.statusCode, again.body], [304, ""]);
});

test("answers 404 for an unknown page, and says how to build the guide if it was not built", async () => {
  const messageAt = async (app: FastifyInstance, url: string): Promise<string> => {
    const response = await app.inject(url);
    assert.equal(response.json<{ code: string }>().code, "not_found");
    return response.json<{ message: string }>().message;
  };
  assert.match(
    await messageAt(serverWith(guide), "/guide/nothing.html"),
    /no such page; \/guide\/ lists all/,
  );
  assert.match(await messageAt(serverWith(new Map()), "/guide/"), /not built.*npm run build/);
});
