// Tests many sessions at the same time: all calls are recorded in their own rollouts, each rollout is finished once,
// and each is trained on once.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { inProof } from "../../../../base/domain/testing/search.ts";
import { bearer, fakeServer, registeredModel } from "../../testing/fake-server.ts";

const groupSize = 10;

interface Listed {
  readonly rollout_id: string;
  readonly state: string;
  readonly call_count: number;
  readonly job_id: string | null;
}

async function trainsOnceOn(sessionCount: number, t: TestContext): Promise<void> {
  const server = await fakeServer({ recordsRollouts: true });
  t.after(() => server.close());
  server.chat.script.isTrained = true;
  const modelId = await registeredModel(server);
  const base = `/v1/preview/models/${modelId}/rollouts`;
  const ask = async (url: string, payload?: object, authorization = bearer()) => {
    const method = payload === undefined ? "GET" : "POST";
    const answer = await server.ask({ method, url, headers: { authorization }, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  };
  const session = async (index: number): Promise<void> => {
    const { body: created } = await ask(base, { group: `group ${Math.floor(index / groupSize)}` });
    const own = bearer(created.api_key);
    const messages = [{ role: "user", content: `Session ${index}` }];
    const { status } = await ask("/v1/chat/completions", { model: "any", messages }, own);
    assert.equal(status, 200);
    const finish = `${base}/${created.rollout_id}/finish`;
    assert.equal((await ask(finish, { reward: 100 }, own)).status, 403, "an agent sets no reward");
    const ends = await Promise.all([0, 1].map((reward) => ask(finish, { reward })));
    assert.deepEqual(new Set(ends.map((end) => end.status)), new Set([200, 409]));
  };
  await Promise.all(Array.from({ length: sessionCount }, (_, index) => session(index)));
  const jobs = await Promise.all(
    [1, 2, 3].map(() => ask("/v1/preview/training-jobs", { model_id: modelId, rollouts: { max_groups: 2 } })),
  );
  const rest = await ask("/v1/preview/training-jobs", { model_id: modelId, rollouts: {} });
  const made = [...jobs, rest].filter(({ status }) => status === 200).map(({ body }) => body.id);
  assert.ok(
    made.length >= 2,
    "one of the concurrent jobs takes the oldest groups, and the last job the rest",
  );
  const all: Listed[] = [];
  for (let after = "", hasMore = true; hasMore;) {
    const { body: page } = await ask(`${base}?limit=100${after}`);
    all.push(...page.data);
    hasMore = page.has_more;
    after = `&after=${page.last_id}`;
  }
  assert.equal(new Set(all.map(({ rollout_id: id }) => id)).size, sessionCount);
  for (const { state, call_count: calls, job_id: job } of all) {
    assert.deepEqual([state, calls], ["finished", 1]);
    assert.ok(made.includes(job));
  }
}

test("40 sessions at once lose no call, and concurrent jobs train on each session once", (t) =>
  trainsOnceOn(40, t));

test("1,000 sessions at once lose no call, and concurrent jobs train on each session once", inProof, (t) =>
  trainsOnceOn(1000, t),
);
