// Reports on stored data, and refusals of writes for an entity that has exceeded its storage quota.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer, keys } from "../../testing/fake-server.ts";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";

const path = "/v1/preview/retention";

async function serverWithQuota() {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, retentionSettings: { entityBytes: ["acme=1kB"] } });
  const post = (url: string, payload: object, key: string = keys.member) =>
    server.ask({
      method: "POST",
      url,
      payload,
      headers: { authorization: bearer(key) },
    });
  const get = (key: string, query = "") =>
    server.ask({ method: "GET", url: path + query, headers: { authorization: bearer(key) } });
  return { server, clock, post, get };
}

test("refuses writes of an entity above its quota, naming the entity, until it deletes data; other entities may write", async () => {
  const { server, clock, post, get } = await serverWithQuota();
  const create = async (name: string, key: string = keys.member): Promise<string> => {
    const made = await post("/v1/preview/models", { project: "p", name, base_model: "tiny" }, key);
    return made.json<{ readonly id: string }>().id;
  };
  const [full, other] = [await create("full"), await create("other")];
  const logTo = (id: string) => `/v1/preview/models/${id}/log`;
  const groups = (text: string) => ({
    trajectory_groups: [
      { trajectories: [{ messages_and_choices: [{ role: "user", content: text }], reward: 1 }] },
    ],
  });
  assert.equal((await post(logTo(full), groups("x".repeat(1000)))).statusCode, 200);
  const used = (await get(keys.member)).json().stored.trajectories;
  assert.ok(used > 1000);
  await clock.advance(2000);
  const requests = [
    [logTo(other), groups("hi")],
    ["/v1/preview/training-jobs", { model_id: other, ...groups("hi") }],
  ] as const;
  for (const [url, payload] of requests) {
    const answer = await post(url, payload);
    assert.equal(answer.statusCode, 429, `${url}: ${answer.body}`);
    const { error, detail } = answer.json();
    assert.deepEqual([error.code, error.type], ["full", "insufficient_quota"]);
    assert.match(detail[0].msg, /The entity "acme" has 1\.\d+ kB stored, and may have 1 kB\. Delete/);
    assert.equal(answer.headers["retry-after"], "30");
  }
  const rivals = await create("m", keys.other);
  assert.equal((await post(logTo(rivals), groups("hi"), keys.other)).statusCode, 200);
  assert.equal((await get(keys.member)).json().quota_bytes, 1000);
  const everybodys = (await get(keys.admin)).json();
  assert.equal(everybodys.quota_bytes, null);
  assert.ok(everybodys.stored.trajectories > used);
  const authorization = bearer(keys.member);
  const deleted = await server.ask({
    method: "DELETE",
    url: `/v1/preview/models/${full}`,
    headers: { authorization },
  });
  assert.equal(deleted.statusCode, 200);
  await clock.advance(2000);
  for (const [url, payload] of requests) assert.equal((await post(url, payload)).statusCode, 200, url);
  await server.close();
});

test("lets only administrators run a sweep, and shows members the stored sizes of their entity", async () => {
  const { server, post, get } = await serverWithQuota();
  const swept = await post(`${path}/sweep`, { dry_run: true }, keys.admin);
  assert.deepEqual(swept.json(), { dry_run: true, removed: [], is_complete: true });
  const refused = await post(`${path}/sweep`, {});
  assert.equal(refused.statusCode, 403);
  assert.match(refused.json().error.message, /this key is a member's/);
  assert.equal((await get(keys.member, "?entity=rival")).statusCode, 403);
  const { rules } = (await get(keys.admin, "?entity=acme")).json();
  assert.deepEqual(rules[2], {
    kind: "recordings",
    days: 30,
    entity_bytes: null,
    model_count: 100_000,
    stored_bytes: 0,
  });
  await server.close();
});
