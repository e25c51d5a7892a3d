// Tests the end of rollouts: refused rewards, concurrent rewards, and calls that are still running.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, keys } from "../../testing/fake-server.ts";
import { rolloutServer } from "../../testing/rollout-server.ts";

const hello = { model: "claude-opus", messages: [{ role: "user", content: "Hi" }], max_tokens: 5 };

test("refuses rewards that are no finite numbers, and leaves the rollout open", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const { rollout_id: id } = await create();
  const headers = { authorization: bearer(keys.member), "content-type": "application/json" };
  for (const reward of ["NaN", "Infinity", "1e999", "-1e400", '"1"', "null", "true", "[1]", "{}"]) {
    const url = `${base}/${id}/finish`;
    const answer = await server.ask({ method: "POST", url, headers, payload: `{"reward":${reward}}` });
    assert.ok([400, 422].includes(answer.statusCode), `${reward}: ${answer.statusCode}`);
  }
  assert.equal((await ask(`${base}/${id}`, undefined, { method: "GET" })).body.state, "open");
  await server.close();
});

test("two different rewards at the same time finish a rollout once", async () => {
  const { server, base, ask, create, record, modelId } = await rolloutServer();
  const { rollout_id: id } = await create();
  await record("r", id);
  const finishes = await Promise.all([1, 2, 3].map((reward) => ask(`${base}/${id}/finish`, { reward })));
  const won = finishes.flatMap(({ status }, index) => (status === 200 ? [index + 1] : []));
  assert.equal(won.length, 1);
  assert.equal(finishes.filter(({ status }) => status === 409).length, 2);
  const trained = await ask("/v1/preview/training-jobs", { model_id: modelId, rollouts: {} });
  const { body } = await ask(`${base}/${id}/trajectories`, undefined, { method: "GET" });
  assert.deepEqual([trained.status, body.trajectories[0].reward], [200, won[0]]);
  await server.close();
});

test("aborts running calls when the rollout is finished, and answers them with a conflict", async () => {
  const { server, base, ask, create } = await rolloutServer();
  const [first, other] = [await create(), await create()];
  server.chat.script.hangs = true;
  const seen = server.chat.nextSeen();
  const byUrl = ask(`${base}/${first.rollout_id}/v1/messages`, hello);
  await seen;
  const seenAgain = server.chat.nextSeen();
  const byOther = ask("/v1/chat/completions", hello, { key: other.api_key });
  await seenAgain;
  assert.equal((await ask(`${base}/${first.rollout_id}/finish`, { reward: 1 })).status, 200);
  const { status, body } = await byUrl;
  assert.deepEqual([status, server.chat.abortedCount], [409, 1], JSON.stringify(body));
  assert.match(body.error.message, /its rollout was finished/);
  assert.equal((await ask(`${base}/${other.rollout_id}/cancel`)).status, 200);
  assert.equal((await byOther).status, 409);
  await server.close();
});
