import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer, keys } from "../../testing/fake-server.ts";

test("returns the owner of the request's key, and refuses a request without one", async () => {
  const server = await fakeServer();
  const ask = (headers: Readonly<Record<string, string>>) =>
    server.ask({ method: "GET", url: "/v1/preview/key", headers });
  const { id, ...key } = (await ask({ authorization: bearer(keys.member) })).json<Record<string, string>>();
  assert.ok(id);
  const unlimited = { scopes: null, project: null };
  assert.deepEqual(key, { owner: "member-owner", entity: "acme", role: "member", ...unlimited });
  assert.equal((await ask({})).statusCode, 401);
  await server.close();
});
