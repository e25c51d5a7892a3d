import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { startIssuer } from "../../../access/users/testing/issuer.ts";
import { userSettings, type UserSettings } from "../../../access/users/settings.ts";
import { createSignedInUsers } from "../../../access/users/signed-in-users.ts";
import type { HttpSettings } from "../settings.ts";
import { basic, bearer, fakeServer, keys } from "../testing/fake-server.ts";

function served(settings: Partial<UserSettings>, more: Partial<HttpSettings> = {}) {
  const users = createSignedInUsers({
    settings: userSettings.with(settings),
    defaultEntity: "local",
    clock: systemClock,
  });
  return fakeServer({
    settings: more,
    wrap: (dependencies) => ({ ...dependencies, users }),
  });
}

// The tests send their requests from 127.0.0.1, so this address is the trusted proxy.
const proxied = { header: "X-Forwarded-User", proxies: ["127.0.0.1"] };
const ann = { "x-forwarded-user": "ann" };

test("admits a user named by the proxy to every part of the API, and audits the name", async () => {
  const server = await served(proxied);
  const own = await server.ask({ method: "GET", url: "/v1/preview/key", headers: ann });
  assert.deepEqual(own.json(), {
    id: "user:ann",
    owner: "ann",
    entity: "local",
    role: "member",
    scopes: null,
    project: null,
  });
  const payload = {
    project_id: "local/p",
    weave_ref: "w:///local/p/call/1",
    feedback_type: "t",
    payload: {},
  };
  const made = await server.ask({ method: "POST", url: "/feedback/create", headers: ann, payload });
  assert.equal(made.statusCode, 200, made.body);
  assert.equal(made.json<{ wb_user_id: string }>().wb_user_id, "ann");
  assert.deepEqual(
    server.audited.map(({ keyId, entity, outcome }) => [keyId, entity, outcome]),
    [["user:ann", "local", "200"]],
  );
  await server.close();
});

test("requires a key if the proxy names no user, or if another client sends the proxy's header", async () => {
  const server = await served(proxied);
  const models = { method: "GET", url: "/v1/models" } as const;
  assert.equal((await server.ask(models)).statusCode, 401);
  assert.equal((await server.ask({ ...models, headers: { authorization: bearer() } })).statusCode, 200);
  const foreign = await server.ask({ ...models, headers: ann, remoteAddress: "192.0.2.7" });
  assert.deepEqual([foreign.statusCode, foreign.headers["www-authenticate"]], [401, 'Bearer realm="hone"']);
  assert.match(foreign.body, /comes from 192\.0\.2\.7, which is none of the proxies/);
  await server.close();
});

test("lets pages of other sites make no changes in the name of a signed-in user", async () => {
  const server = await served(proxied, { corsOrigins: ["https://tools.example"] });
  const status = async (headers: Readonly<Record<string, string>>, method: "GET" | "POST" = "POST") => {
    const url = method === "GET" ? "/v1/models" : "/tokenize";
    const payload = method === "GET" ? {} : { payload: { prompt: "a" } };
    return (await server.ask({ method, url, headers: { ...ann, ...headers }, ...payload })).statusCode;
  };
  const host = "hone.example";
  const ownSite: readonly Readonly<Record<string, string>>[] = [
    {},
    { "sec-fetch-site": "same-origin", origin: "https://hone.example" },
    { "sec-fetch-site": "none" },
    { origin: "http://hone.example", host },
    { origin: "https://hone.example", host: "127.0.0.1:8000", "x-forwarded-host": host },
    { origin: "https://tools.example", "sec-fetch-site": "cross-site" },
  ];
  for (const own of ownSite) assert.equal(await status(own), 200, JSON.stringify(own));
  const otherSites: readonly Readonly<Record<string, string>>[] = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: "https://evil.example" },
    { origin: "https://evil.example", host },
    { origin: "null", host },
  ];
  for (const foreign of otherSites) {
    assert.equal(await status(foreign), 403, JSON.stringify(foreign));
    // A page of another site may send requests that only read, because the browser does not let the page read the
    // answer.
    assert.equal(await status(foreign, "GET"), 200);
    const byKey = { ...foreign, authorization: bearer() };
    const payload = { prompt: "a" };
    assert.equal(
      (await server.ask({ method: "POST", url: "/tokenize", headers: byKey, payload })).statusCode,
      200,
    );
  }
  await server.close();
});

test("counts invalid tokens and forged headers as unknown keys, but not expired tokens", async (t) => {
  const issuer = await startIssuer();
  t.after(() => issuer.close());
  const claims = { iss: issuer.url, aud: "hone", email: "ann@example.com" };
  const nowSeconds = Math.floor(Date.now() / 1000);
  const good = issuer.token({ ...claims, exp: nowSeconds + 600 });
  const expired = issuer.token({ ...claims, exp: nowSeconds - 600 });
  const forged = `${good.slice(0, good.lastIndexOf(".") + 1)}AAAA`;
  const unverified = issuer.token({ ...claims, exp: nowSeconds + 600, email_verified: false });
  const byToken = { issuer: issuer.url, audience: "hone", tokenHeader: "X-Token" };
  const limit = { failedLoginsPerMinute: 3 };
  const outcomes = async (
    settings: Partial<UserSettings>,
    sent: readonly Readonly<Record<string, string>>[],
  ) => {
    const server = await served(settings, limit);
    const found: number[] = [];
    for (const headers of sent) {
      const request = { method: "GET", url: "/v1/models", headers, remoteAddress: "10.0.0.1" } as const;
      found.push((await server.ask(request)).statusCode);
    }
    await server.close();
    return found;
  };
  const asKey = (token: string) => ({ authorization: bearer(token) });
  const inHeader = (token: string) => ({ "x-token": token });
  const mixed = [asKey(forged), inHeader(forged), asKey("hone_guess"), asKey(forged), inHeader(forged)];
  const holding = [asKey(good), inHeader(good), asKey(keys.member)];
  assert.deepEqual(
    await outcomes(byToken, [...mixed, asKey("hone_guess"), ...holding]),
    [401, 401, 401, 429, 429, 429, 200, 200, 200],
  );
  assert.deepEqual(
    await outcomes(
      byToken,
      [1, 2, 3, 4].map(() => asKey(unverified)),
    ),
    [401, 401, 401, 429],
  );
  assert.deepEqual(
    await outcomes(
      byToken,
      [1, 2, 3, 4, 5].map((n) => (n % 2 === 0 ? asKey(expired) : inHeader(expired))),
    ),
    [401, 401, 401, 401, 401],
  );
  assert.deepEqual(await outcomes(proxied, [ann, ann, ann, ann]), [401, 401, 401, 429]);
});

test("requires a key, in either scheme, on operator routes if the operator says so, but not for probes", async () => {
  const server = await fakeServer({
    wrap: (dependencies) => ({ ...dependencies, operatorRoutes: "key" }),
  });
  const asked = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
    const { statusCode, headers: given } = await server.app.inject({ method: "GET", url, headers });
    return [statusCode, given["www-authenticate"]];
  };
  const shown = ["/metrics", "/openapi.json", "/docs/", "/docs/static/swagger-ui.css", "/docs/json"];
  for (const url of shown) {
    assert.deepEqual(await asked(url), [401, 'Basic realm="hone", charset="UTF-8"'], url);
    assert.deepEqual(await asked(url, { authorization: bearer() }), [200, undefined], url);
    assert.deepEqual(await asked(url, { authorization: basic() }), [200, undefined], url);
    assert.deepEqual(await asked(url, { authorization: bearer(keys.member) }), [200, undefined], url);
    assert.deepEqual(await asked(url, { authorization: bearer("hone_nope") }), [401, 'Bearer realm="hone"']);
  }
  assert.deepEqual((await asked("/v1/system-check"))[0], 401);
  for (const url of ["/health", "/ping", "/version", "/load"])
    assert.deepEqual(await asked(url), [200, undefined]);
  await server.close();
  const open = await fakeServer();
  for (const url of shown) assert.equal((await open.app.inject({ method: "GET", url })).statusCode, 200, url);
  await open.close();
});
