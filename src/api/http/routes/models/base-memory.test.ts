import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer, keys } from "../../testing/fake-server.ts";

test("loads and unloads base models for administrators only, and refuses unknown names", async () => {
  const server = await fakeServer();
  const change = async (verb: string, name: string, key: string = keys.admin) => {
    const url = `/v1/preview/base-models/${name}/${verb}`;
    const answer = await server.ask({ method: "POST", url, headers: { authorization: bearer(key) } });
    return [answer.statusCode, answer.json<{ readonly status?: string }>().status] as const;
  };
  assert.deepEqual(await change("unload", "small"), [200, "unloaded"]);
  assert.deepEqual(await change("unload", "small"), [200, "unloaded"]);
  assert.deepEqual(await change("load", "small"), [200, "loaded"]);
  assert.deepEqual(await change("unload", "small", keys.member), [403, undefined]);
  assert.deepEqual(await change("load", "owner%2Fother"), [404, undefined]);
  assert.equal(server.audited.filter(({ action }) => action.endsWith("/small/unload")).length, 3);
  await server.close();
});
