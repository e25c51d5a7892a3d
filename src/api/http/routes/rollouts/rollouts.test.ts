// Tests the routes of rollouts: who may use them, which calls belong to a rollout, and what ends it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleContent } from "../../../../store/database/contract/completion-store.ts";
import { keys } from "../../testing/fake-server.ts";
import { type Created, rolloutServer } from "../../testing/rollout-server.ts";

interface Trained {
  readonly reward: number;
  readonly metadata: { readonly rollout_id: string };
  readonly messagesAndChoices: readonly { readonly token_ids: readonly number[] }[];
}

const hello = { model: "claude-opus", messages: [{ role: "user", content: "Hi" }], max_tokens: 5 };
const chat = "/v1/chat/completions";

test("a rollout's key and its base URL admit calls of every API, which all belong to the rollout", async () => {
  const { server, base, ask, create, modelId } = await rolloutServer();
  const created = await create({ task: { a: [1] }, group: "g", metadata: { b: null } });
  assert.deepEqual(
    [created["task"], created["group"], created["split"], created["state"], created["model"]],
    [{ a: [1] }, "g", "train", "open", "acme/p/m"],
  );
  const { rollout_id: id, api_key: key } = created;
  assert.equal(new URL(created.base_url).pathname, `${base}/${id}/v1`);
  const bodies = {
    [chat]: hello,
    "/v1/completions": { model: "gpt-4", prompt: "a" },
    "/v1/responses": { model: "gpt-5", input: "a" },
    "/v1/messages": hello,
  };
  for (const [url, body] of Object.entries(bodies))
    for (const [place, by] of [
      [url, key],
      [`${base}/${id}${url}`, key],
      [`${base}/${id}${url}`, keys.member],
    ]) {
      const answer = await ask(place, body, { key: by });
      assert.equal(answer.status, 200, `${place} ${JSON.stringify(answer.body)}`);
      assert.deepEqual(server.chat.seen.at(-1)?.caller.rollout, { id, modelId, pinnedStep: 0 });
    }
  const counted = await ask(`${base}/${id}/v1/messages/count_tokens`, hello, { key });
  assert.deepEqual(counted.body, { input_tokens: 2 });
  const { status } = await ask(`${base}/${id}/v1/models`, undefined, { method: "GET" });
  assert.equal(status, 200);
  await server.close();
});

test("a rollout's key opens nothing but calls of the model, so an agent cannot set its own reward", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const { rollout_id: id, api_key: key } = await create();
  const other = await create();
  for (const url of [`${base}/${id}/finish`, `${base}/${id}/cancel`, base, "/v1/preview/training-jobs"])
    assert.equal((await ask(url, { reward: 9 }, { key })).status, 403, url);
  for (const url of [base, `${base}/${id}`])
    assert.equal((await ask(url, undefined, { key, method: "GET" })).status, 403, url);
  assert.equal((await ask(`${base}/${other.rollout_id}${chat}`, hello, { key })).status, 403);
  assert.equal((await ask(chat, hello, { key: `${key}x` })).status, 401);
  assert.equal((await ask("/feedback/create", {}, { key })).status, 401);
  await server.close();
});

test("refuses other entities, and ids of other models", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const { rollout_id: id } = await create();
  const asOther = { key: keys.other };
  const statuses = await Promise.all([
    ask(base, {}, asOther),
    ask(base, undefined, { ...asOther, method: "GET" }),
    ask(`${base}/${id}`, undefined, { ...asOther, method: "GET" }),
    ask(`${base}/${id}/finish`, { reward: 1 }, asOther),
    ask(`${base}/${id}/cancel`, undefined, asOther),
    ask(`${base}/${id}${chat}`, hello, asOther),
  ]);
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [403, 403, 403, 403, 403, 403],
  );
  const second = await ask("/v1/preview/models", { project: "p", name: "n", base_model: "tiny" });
  const elsewhere = `/v1/preview/models/${second.body.id}/rollouts/${id}`;
  assert.equal((await ask(elsewhere, undefined, { method: "GET" })).status, 404);
  assert.equal((await ask(`${elsewhere}/finish`, { reward: 1 })).status, 404);
  assert.equal((await ask(`${elsewhere}${chat}`, hello)).status, 404);
  await server.close();
});

test("a finished, cancelled or expired rollout accepts no calls, and says why", async () => {
  const { server, clock, base, ask, create } = await rolloutServer();
  const check = async ({ rollout_id: id, api_key: key }: Created, what: RegExp) => {
    const byKey = await ask(chat, hello, { key });
    const byUrl = await ask(`${base}/${id}${chat}`, hello);
    assert.deepEqual([byKey.status, byUrl.status], [401, 409]);
    for (const { body } of [byKey, byUrl]) assert.match(body.error.message, what);
  };
  const finished = await create();
  await ask(`${base}/${finished.rollout_id}/finish`, { reward: 1 });
  await check(finished, /was finished at/);
  const cancelled = await create();
  await ask(`${base}/${cancelled.rollout_id}/cancel`);
  await check(cancelled, /was cancelled at/);
  const expired = await create({ expires: 60 });
  clock.step(60_000);
  await check(expired, /expired at/);
  const { body } = await ask(`${base}?state=expired`, undefined, { method: "GET" });
  assert.deepEqual(
    body.data.map((one: Created) => one.rollout_id),
    [expired.rollout_id],
  );
  await server.close();
});

test("finishing again with the same body answers the same, and with another body is a conflict", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const { rollout_id: id } = await create();
  const finish = (body: object) => ask(`${base}/${id}/finish`, body);
  const first = await finish({ reward: 0.5, metrics: { steps: 3, won: true } });
  assert.deepEqual([first.status, first.body.state, first.body.reward], [200, "finished", 0.5]);
  assert.deepEqual(await finish({ metrics: { won: true, steps: 3 }, reward: 0.5 }), first);
  for (const body of [{ reward: 0.5 }, { reward: 1, metrics: { steps: 3, won: true } }])
    assert.equal((await finish(body)).status, 409);
  assert.equal((await ask(`${base}/${id}/cancel`)).status, 409);
  const { rollout_id: other } = await create();
  const cancel = () => ask(`${base}/${other}/cancel`);
  assert.deepEqual(await cancel(), await cancel());
  assert.equal((await ask(`${base}/${other}/finish`, { reward: 1 })).status, 409);
  await server.close();
});

test("refuses invalid fields, unknown versions and rewards of unknown calls, and names them", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const { rollout_id: id } = await create();
  const paramOf = async (url: string, body: object) => {
    const answer = await ask(url, body);
    return [answer.status, answer.body.error.param];
  };
  const finish = `${base}/${id}/finish`;
  assert.deepEqual(await paramOf(finish, {}), [422, "reward"]);
  for (const reward of ["1", null, true, [1]])
    assert.deepEqual(await paramOf(finish, { reward }), [422, "reward"]);
  assert.deepEqual(await paramOf(finish, { reward: 1, metrics: { a: "b" } }), [422, "metrics.a.float"]);
  assert.deepEqual(await paramOf(finish, { reward: 1, call_rewards: { no: 1 } }), [422, "call_rewards"]);
  assert.deepEqual(await paramOf(base, { expires: 0 }), [422, "expires"]);
  assert.deepEqual(await paramOf(base, { expires: 604_801 }), [422, "expires"]);
  assert.deepEqual(await paramOf(base, { group: "a\u0000" }), [422, "group"]);
  assert.equal((await ask(base, { version: 3 })).status, 404);
  assert.equal((await ask(base, { version: 0, follow_new_versions: true })).status, 422);
  assert.equal((await ask(base, { task: "x".repeat(1 << 20) })).status, 413);
  await server.close();
});

test("limits the open rollouts of an entity, and the calls and tokens of a rollout", async () => {
  const { server, base, ask, create, record } = await rolloutServer({
    openPerEntity: 2,
    callsMax: 2,
    tokensMax: 1000,
  });
  const first = await create();
  const second = await create();
  assert.equal((await ask(base, {})).status, 429);
  const call = ({ api_key: key }: Created) => ask(chat, hello, { key });
  await record("r1", first.rollout_id);
  assert.equal((await call(first)).status, 200);
  await record("r2", first.rollout_id);
  const full = await call(first);
  assert.deepEqual([full.status, full.body.error.message.includes("2 calls")], [400, true]);
  await record("r3", second.rollout_id, { promptTokens: 900, completionTokens: 100, cachedTokens: 0 });
  assert.equal((await call(second)).status, 400);
  await server.close();
});

test("a job trains on rollouts by id or selection, each once, with exactly the recorded tokens", async () => {
  const { server, base, ask, create, record, modelId } = await rolloutServer();
  const make = async (name: string, reward: number | null, body: object = {}) => {
    const { rollout_id: id } = await create({ group: "g", ...body });
    await record(name, id);
    if (reward !== null) assert.equal((await ask(`${base}/${id}/finish`, { reward })).status, 200);
    return id;
  };
  const train = (body: object) => ask("/v1/preview/training-jobs", { model_id: modelId, ...body });
  const open = await make("r0", null);
  const ids = [await make("r1", 1), await make("r2", 0)];
  const elsewhere = await make("r3", 0.5, { split: "val" });
  assert.match((await train({ rollout_ids: [open] })).body.error.message, /is still open/);
  assert.equal((await train({ rollout_ids: [modelId] })).status, 404);
  assert.equal((await train({})).body.error.param, "trajectory_groups");
  assert.equal((await train({ rollout_ids: ids, rollouts: {} })).status, 422);
  const job = await train({ rollouts: { finished: "all", split: "train" } });
  assert.equal(job.status, 200, JSON.stringify(job.body));
  const lines: string[] = [];
  for await (const line of (await server.jobs.trajectoryLines(job.body.id)) ?? []) lines.push(line);
  const { trajectories } = JSON.parse(lines.join(""));
  const { promptTokenIds, choices } = sampleContent();
  assert.deepEqual(
    trajectories.map((one: Trained) => [
      one.reward,
      one.metadata.rollout_id,
      one.messagesAndChoices.at(-1)?.token_ids,
    ]),
    [
      [1, ids[0], choices[0].tokenIds],
      [0, ids[1], choices[0].tokenIds],
    ],
  );
  assert.deepEqual(trajectories[0].messagesAndChoices.at(-1).prompt_token_ids, promptTokenIds);
  const again = await train({ rollouts: { split: "train" } });
  assert.deepEqual([again.status, again.body.error.param], [409, "rollouts"]);
  assert.match((await train({ rollout_ids: ids })).body.error.message, /none is trained on twice/);
  const { body } = await ask(`${base}/${ids[0]}`, undefined, { method: "GET" });
  assert.equal(body.job_id, job.body.id);
  await ask(`/v1/preview/training-jobs/${job.body.id}/cancel`);
  const second = await train({ rollout_ids: [...ids, elsewhere] });
  assert.equal(second.status, 200, JSON.stringify(second.body));
  await server.close();
});

test("a job trains on expired rollouts only with a reward for them", async () => {
  const { server, clock, ask, create, record, modelId } = await rolloutServer();
  const { rollout_id: id } = await create({ expires: 10 });
  await record("r1", id);
  clock.step(10_000);
  const train = (body: object) => ask("/v1/preview/training-jobs", { model_id: modelId, ...body });
  assert.equal((await train({ rollouts: {} })).status, 409);
  assert.match((await train({ rollout_ids: [id] })).body.error.message, /expired without a reward/);
  const made = await train({ rollout_ids: [id], expired_reward: -1 });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  await server.close();
});

test("accepts a rollout's key also while authentication is off", async () => {
  const { server, ask, create } = await rolloutServer({}, "off");
  const { rollout_id: id, api_key: key } = await create();
  assert.equal((await ask(chat, hello, { key })).status, 200);
  assert.equal(server.chat.seen.at(-1)?.caller.rollout?.id, id);
  await server.close();
});

test("revoking the key that created a rollout ends the rollout's key", async () => {
  const { server, ask, create } = await rolloutServer();
  const { api_key: key } = await create();
  await server.keyStore.revoke("member", new Date());
  const answer = await ask(chat, hello, { key });
  assert.deepEqual([answer.status, answer.body.error.code], [401, "unauthorized"]);
  await server.close();
});
