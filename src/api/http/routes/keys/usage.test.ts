import assert from "node:assert/strict";
import { test } from "node:test";
import { noUsage } from "../../../../base/domain/keys/usage.ts";
import { bearer, fakeServer, keys } from "../../testing/fake-server.ts";

const path = "/v1/preview/usage";

async function serverWithUsage() {
  const server = await fakeServer();
  const row = (day: string, keyId: string, entity: string, model: string, requests: number) => ({
    ...noUsage,
    day,
    keyId,
    entity,
    model,
    requests,
    promptTokens: 10 * requests,
    trainingTokens: requests,
  });
  await server.usage.add([
    row("2026-11-20", "member", "acme", "tiny", 1),
    row("2026-11-21", "member", "acme", "acme/p/=m,1", 2),
    row("2026-11-21", "other", "rival", "tiny", 3),
    row("2026-11-22", "", "acme", "acme/p/m", 4),
  ]);
  const ask = async (key: string, query = "") => {
    const headers = { authorization: bearer(key) };
    return server.ask({ method: "GET", url: path + query, headers });
  };
  const requestsIn = async (key: string, query = "") => {
    const answer = await ask(key, query);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json().data.map(({ requests }: { readonly requests: number }) => requests);
  };
  return { server, ask, requestsIn };
}

test("shows a member the usage of its entity, and an administrator all usage, latest day first", async () => {
  const { server, ask, requestsIn } = await serverWithUsage();
  assert.deepEqual(await requestsIn(keys.member), [4, 2, 1]);
  assert.deepEqual(await requestsIn(keys.other), [3]);
  assert.deepEqual(await requestsIn(keys.admin), [4, 3, 2, 1]);
  assert.deepEqual(await requestsIn(keys.admin, "?entity=rival"), [3]);
  assert.deepEqual(await requestsIn(keys.member, "?from=2026-11-21&to=2026-11-21"), [2]);
  assert.deepEqual(await requestsIn(keys.member, "?key_id=member&order=asc"), [1, 2]);
  assert.deepEqual(await requestsIn(keys.admin, "?model=tiny"), [3, 1]);
  const { last_id: last, data } = (await ask(keys.member, "?limit=1")).json();
  assert.deepEqual(await requestsIn(keys.member, `?limit=1&after=${encodeURIComponent(last)}`), [2]);
  assert.equal(data[0].key_id, null);
  assert.equal(data[0].prompt_tokens, 40);
  await server.close();
});

test("refuses invalid filters with their paths", async () => {
  const { server, ask } = await serverWithUsage();
  const fault = async (query: string) => {
    const answer = await ask(keys.member, query);
    return `${answer.statusCode} ${answer.json().detail[0].loc.join(".")}`;
  };
  assert.equal(await fault("?entity=rival"), "403 query.entity");
  assert.equal(await fault("/export?entity=rival"), "403 query.entity");
  assert.equal(await fault("?from=yesterday"), "422 query.from");
  assert.equal(await fault("?after=nothing"), "422 query.after");
  await server.close();
});

test("exports the same rows as CSV", async () => {
  const { server, ask } = await serverWithUsage();
  const answer = await ask(keys.member, "/export");
  assert.match(String(answer.headers["content-type"]), /^text\/csv/);
  assert.deepEqual(answer.body.split("\r\n"), [
    "day,key_id,entity,model,requests,prompt_tokens,cached_tokens,completion_tokens,training_tokens",
    "2026-11-20,member,acme,tiny,1,10,0,0,1",
    '2026-11-21,member,acme,"acme/p/=m,1",2,20,0,0,2',
    "2026-11-22,,acme,acme/p/m,4,40,0,0,4",
    "",
  ]);
  await server.close();
});
