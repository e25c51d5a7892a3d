// Summaries of stored trajectories over HTTP: lists, filters, counts, and single whole trajectories.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import { bearer, fakeServer, keys, registeredModel } from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Row = Readonly<Record<string, unknown>>;
interface Page {
  readonly data: readonly Row[];
  readonly first_id: string;
  readonly last_id: string;
  readonly has_more: boolean;
}

const ask = (server: Server, url: string, payload?: object, key: string = keys.member) =>
  server.ask({
    method: payload === undefined ? "GET" : "POST",
    url,
    headers: { authorization: bearer(key) },
    ...(payload === undefined ? {} : { payload }),
  });

const reply = {
  finish_reason: "stop",
  message: { role: "assistant", content: "Paris." },
  logprobs: {
    content: [
      { token: "Paris", logprob: -0.25 },
      { token: ".", logprob: -1 },
    ],
  },
};
const question = { role: "user", content: [{ type: "text", text: "Which city?" }] };
const call = { id: "c", type: "function", function: { name: "find", arguments: '{"city":1}' } };

const trajectory = (reward: number, items: readonly object[] = [question, reply]) => ({
  messages_and_choices: items,
  reward,
  metrics: { won: reward > 0 },
  metadata: { scene: `Sé "${reward}"`, [`is_${reward}`]: { a: [reward] } },
});

let shared: Promise<{ readonly server: Server; readonly url: string }> | undefined;
/**
 * Server that all tests share, because they change nothing. It has logs of small and large groups, and a job with two
 * trajectories.
 */
const stored = () => (shared ??= newWorld());
after(async () => (await shared)?.server.close());

async function newWorld() {
  // The time stands still, so no search reaches its time limit on a busy machine.
  const server = await fakeServer({ clock: new FakeClock() });
  const id = await registeredModel(server);
  const url = `/v1/preview/models/${id}`;
  const log = async (split: string, groups: readonly object[]) => {
    const answer = await ask(server, `${url}/log`, { split, trajectory_groups: groups });
    assert.equal(answer.statusCode, 200, answer.body);
  };
  const calling = [question, { role: "assistant", content: null, tool_calls: [call] }];
  await log("val", [
    { trajectories: [trajectory(0), trajectory(1)] },
    { trajectories: [] },
    { trajectories: [trajectory(-2.5, calling)] },
  ]);
  const long = { ...trajectory(5), logs: ["l".repeat(5 << 18)] };
  await log("train", [
    { trajectories: [long, trajectory(6)], metadata: { kind: "large" } },
    { trajectories: [trajectory(7)] },
  ]);
  const job = { model_id: id, trajectory_groups: [{ trajectories: [trajectory(9), trajectory(8)] }] };
  const created = await ask(server, "/v1/preview/training-jobs", job);
  assert.equal(created.statusCode, 200, created.body);
  return { server, url };
}

async function list(query: string): Promise<Page> {
  const { server, url } = await stored();
  const answer = await ask(server, `${url}/trajectories/outlines?${query}`);
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json<Page>();
}

const rewardsOf = ({ data }: Page) => data.map((row) => row["reward"]);

test("summarizes the start, the end and the reward of each trajectory", async () => {
  const { data } = await list("order=asc&limit=3");
  const { source_id: sourceId, recorded_at: recordedAt, ...first } = data[0];
  assert.match(String(sourceId), /^[0-9a-f-]{36}$/);
  assert.match(String(recordedAt), /Z$/);
  assert.deepEqual(first, {
    id: "1",
    source: "log",
    split: "val",
    step: 0,
    group_index: 0,
    index: 0,
    reward: 0,
    metrics: { won: false },
    reply_count: 1,
    token_count: 2,
    cost: null,
    currency: null,
    has_logprobs: true,
    prompt: "Which city?",
    answer: "Paris.",
  });
  const { answer, reply_count: replyCount, has_logprobs: hasLogprobs, group_index: group } = data[2];
  assert.deepEqual([answer, replyCount, hasLogprobs, group], ['find({"city":1})', 0, false, 2]);
});

test("lists the newest first, with filters and cursors", async () => {
  assert.deepEqual(rewardsOf(await list("")), [8, 9, 7, 6, 5, -2.5, 1, 0]);
  assert.deepEqual(rewardsOf(await list("split=val")), [-2.5, 1, 0]);
  assert.deepEqual(rewardsOf(await list("source=job")), [8, 9]);
  assert.deepEqual(rewardsOf(await list("source=log&reward_min=1&reward_max=6")), [6, 5, 1]);
  assert.deepEqual(rewardsOf(await list("recorded_before=1960-01-01T00:00:00Z")), []);
  const rewards: unknown[] = [];
  for (let after = "", hasMore = true; hasMore;) {
    const page = await list(`limit=3&after=${after}`);
    rewards.push(...rewardsOf(page));
    ({ last_id: after, has_more: hasMore } = page);
  }
  assert.deepEqual(rewards, [8, 9, 7, 6, 5, -2.5, 1, 0]);
});

test("finds trajectories by metadata of their own and of their group", async () => {
  const found = async (...pairs: readonly string[]) =>
    rewardsOf(await list(pairs.map((pair) => `metadata=${encodeURIComponent(pair)}`).join("&")));
  assert.deepEqual(await found('scene=Sé "6"'), [6]);
  assert.deepEqual(await found(`scene=${JSON.stringify('Sé "6"')}`), [6]);
  assert.deepEqual(await found("kind=large"), [6, 5]);
  assert.deepEqual(await found("kind=large", 'is_5={"a":[5]}'), [5]);
  assert.deepEqual(await found("kind=large", "is_7=7"), []);
  assert.deepEqual(await found("-=-"), []);
  assert.deepEqual(rewardsOf(await list("metadata=kind=large&text=paris&reward_min=6")), [6]);
  const { server, url } = await stored();
  const answer = await ask(server, `${url}/trajectories/outlines?metadata=kind`);
  assert.equal(answer.statusCode, 422, answer.body);
  assert.match(answer.body, /such as scenario_id=7/);
});

test("finds trajectories by words of their messages, together with other filters", async () => {
  assert.deepEqual(rewardsOf(await list("text=PARIS")), [8, 9, 7, 6, 5, 1, 0]);
  assert.deepEqual(rewardsOf(await list("text=which%20paris&source=log&limit=2")), [7, 6]);
  assert.deepEqual(rewardsOf(await list("text=find")), [-2.5]);
  assert.deepEqual(rewardsOf(await list("text=content")), []);
  const first = await list("text=paris&limit=3");
  assert.deepEqual([rewardsOf(first), first.last_id, first.has_more], [[8, 9, 7], "6", true]);
  assert.deepEqual(rewardsOf(await list(`text=paris&after=${first.last_id}`)), [6, 5, 1, 0]);
  const { server, url } = await stored();
  for (const [text, fault] of [
    ["%20", /text has no words/],
    ["a%20b%20c%20d%20e%20f%20g%20h%20i%20j%20k", /text has 11 words; at most 10/],
    ["x".repeat(201), /200/],
  ] as const) {
    const answer = await ask(server, `${url}/trajectories/outlines?text=${text}`);
    assert.equal(answer.statusCode, 422, answer.body);
    assert.match(answer.body, fault);
  }
  const foreign = await ask(server, `${url}/trajectories/outlines?text=paris`, undefined, keys.other);
  assert.equal(foreign.statusCode, 403);
});

test("counts trajectories by source", async () => {
  const { server, url } = await stored();
  const counts = (query = "") => ask(server, `${url}/trajectories/counts${query}`);
  const val = { source: "log", split: "val", count: 3, mean_reward: -0.5 };
  const train = { source: "log", split: "train", count: 3, mean_reward: 6 };
  const trained = { source: "job", split: "train", count: 2, mean_reward: 8.5 };
  assert.deepEqual((await counts()).json<Page>().data, [train, val, trained]);
  assert.deepEqual((await counts("?step=3")).json<Page>().data, []);
});

test("shows one whole trajectory from a log or a job", async () => {
  const { server, url } = await stored();
  const { data: rows } = (await ask(server, `${url}/trajectories/rows?limit=100`)).json<Page>();
  const { data: ofJob } = (await ask(server, `${url}/trajectories/rows?source=jobs`)).json<Page>();
  const all = [...rows, ...ofJob];
  assert.equal(all.length, 8);
  for (const [index, row] of all.entries()) {
    const answer = await ask(server, `${url}/trajectories/${index + 1}`);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), row);
  }
});

test("refuses unknown numbers, invalid cursors and invalid times", async () => {
  const { server, url } = await stored();
  for (const number of ["0", "9", "-1", "1e3", "x"]) {
    const answer = await ask(server, `${url}/trajectories/${number}`);
    assert.equal(answer.statusCode, 404, number);
    assert.match(answer.body, /"loc":\["path","number"\]/);
  }
  for (const query of ["after=x", "recorded_from=yesterday", "reward_min=high", "limit=101"]) {
    const answer = await ask(server, `${url}/trajectories/outlines?${query}`);
    assert.equal(answer.statusCode, 422, query);
  }
  for (const path of ["outlines", "counts", "1"])
    assert.equal((await ask(server, `${url}/trajectories/${path}`, undefined, keys.other)).statusCode, 403);
});
