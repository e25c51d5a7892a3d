// Requests that browsers send on behalf of pages from other origins.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import type { ApiDocument } from "../testing/api-document.ts";
import { bearer, fakeServer, helloBody, type FakeServerOptions } from "../testing/fake-server.ts";

const page = "https://app.example";

/** Checks an answer's status and CORS headers. */
async function check(
  options: { readonly origins: readonly string[]; readonly auth?: "on" | "off" },
  request: InjectOptions,
  expected: Readonly<Record<string, string | number>>,
): Promise<LightMyRequestResponse> {
  const { origins: corsOrigins, auth = "on" } = options;
  const server = await fakeServer({ settings: { corsOrigins }, auth } satisfies FakeServerOptions);
  const answer = await server.ask(request);
  await server.close();
  assert.ok("x-request-id" in answer.headers);
  const found = Object.entries(answer.headers).filter(
    ([name]) => /^access-control-(allow|max)/.test(name) || name === "vary",
  );
  assert.deepEqual({ status: answer.statusCode, ...Object.fromEntries(found) }, expected);
  return answer;
}

const preflight = (origin: string, url = "/v1/chat/completions"): InjectOptions => ({
  method: "OPTIONS",
  url,
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
  },
});
const permission = {
  "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
  "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
  "access-control-max-age": "600",
  vary: "Origin",
};
const named = {
  "access-control-allow-origin": page,
  "access-control-allow-credentials": "true",
  vary: "Origin",
};
const chat = (origin: string, payload: object): InjectOptions => ({
  method: "POST",
  url: "/v1/chat/completions",
  headers: { authorization: bearer(), origin },
  payload,
});

test("allows no origin and sends no CORS headers without the setting", async () => {
  await check({ origins: [] }, preflight(page), { status: 405 });
  await check({ origins: [] }, chat(page, helloBody), { status: 200 });
});

test("answers a preflight from a named origin without a key, on any path", async () => {
  for (const url of ["/v1/chat/completions", "/v1/models", "/feedback/create", "/no/such/route"])
    await check({ origins: [page] }, preflight(page, url), { status: 204, ...named, ...permission });
});

test("does not allow origins that are not named", async () => {
  for (const origin of ["https://app.example.evil", "http://app.example", "https://app.example:444", "null"])
    await check({ origins: [page] }, preflight(origin), { status: 405, vary: "Origin" });
  await check({ origins: [page] }, chat("https://evil.example", helloBody), { status: 200, vary: "Origin" });
});

test("allows every origin if the setting has `*`, but without stored credentials", async () => {
  const all = { "access-control-allow-origin": "*", vary: "Origin" };
  await check({ origins: ["*"] }, preflight("null"), { status: 204, ...all, ...permission });
  await check({ origins: ["*"] }, chat(page, helloBody), { status: 200, ...all });
  await check({ origins: ["*", page] }, chat(page, helloBody), { status: 200, ...named });
  await check({ origins: [page] }, chat("*", helloBody), { status: 200, vary: "Origin" });
});

test("lets pages read errors, streams, and this API's own headers", async () => {
  const refused = await check({ origins: [page] }, chat(page, {}), { status: 422, ...named });
  assert.match(String(refused.headers["access-control-expose-headers"]), /x-request-id.*x-hone-ignored/);
  await check({ origins: [page] }, { ...chat(page, {}), url: "/none" }, { status: 404, ...named });
  await check(
    { origins: [page] },
    { method: "GET", url: "/v1/models", headers: { origin: page } },
    { status: 401, ...named },
  );
  await check(
    { origins: [page] },
    { method: "GET", url: "/docs/%", headers: { origin: page } },
    { status: 422, ...named },
  );
  const stream = await check({ origins: [page] }, chat(page, { ...helloBody, stream: true }), {
    status: 200,
    ...named,
  });
  assert.match(stream.body, /\[DONE\]/);
});

test("admits only named origins while authentication is off, even if the setting has `*`", async () => {
  const from = (origin: string): InjectOptions => {
    const request = chat(origin, helloBody);
    return { ...request, headers: { ...request.headers, host: "localhost", "sec-fetch-site": "cross-site" } };
  };
  await check({ origins: [page], auth: "off" }, from(page), { status: 200, ...named });
  await check({ origins: [page], auth: "off" }, from("https://evil.example"), {
    status: 403,
    vary: "Origin",
  });
  const all = { "access-control-allow-origin": "*", vary: "Origin" };
  await check({ origins: ["*"], auth: "off" }, from(page), { status: 403, ...all });
});

test("allows the headers that a preflight asks for only if they are a list of names", async () => {
  const request = preflight(page);
  const headers = { ...request.headers, "access-control-request-headers": "a: b\u00e9" };
  const { "access-control-allow-headers": _, ...rest } = permission;
  await check({ origins: [page] }, { ...request, headers }, { status: 204, ...named, ...rest });
});

test("lets a page use every method that a route has", async () => {
  const server = await fakeServer({ settings: { corsOrigins: [page] } });
  const answer = await server.ask(preflight(page));
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  const allowed = String(answer.headers["access-control-allow-methods"]).split(", ");
  const methods = Object.values(paths).flatMap((operations) => Object.keys(operations));
  const missing = methods.map((method) => method.toUpperCase()).filter((method) => !allowed.includes(method));
  assert.deepEqual(missing, []);
});
