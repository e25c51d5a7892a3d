import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer, keys, playJob, registeredModel } from "../testing/fake-server.ts";

type Body = Record<string, unknown>;
type Server = Awaited<ReturnType<typeof fakeServer>>;

const headers = { authorization: bearer(keys.member) };

function log(server: Server, modelId: string, payload: object) {
  return server.ask({ method: "POST", url: `/v1/preview/models/${modelId}/log`, headers, payload });
}

const groups = [{ trajectories: [{ reward: 1, custom: "kept" }, { reward: 0 }], exceptions: [] }];

test("logs under the split val by default, and answers with the metrics", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const answer = await log(server, modelId, { model_id: modelId, trajectory_groups: groups, split: null });
  assert.equal(answer.statusCode, 200, answer.body);
  const { metrics, ...rest } = answer.json<Body>();
  assert.deepEqual(rest, { detail: [], model_id: modelId, split: "val", step: 0, trajectories: 2 });
  assert.equal((metrics as Record<string, number>)["val/reward"], 0.5);
  assert.equal(answer.headers["x-hone-ignored"], undefined);
  await server.close();
});

test("returns logs and metrics by split", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  for (const split of ["train", "val"]) await log(server, modelId, { trajectory_groups: groups, split });
  const get = async (what: string): Promise<readonly Body[]> => {
    const answer = await server.ask({ method: "GET", url: `/v1/preview/models/${modelId}/${what}`, headers });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<{ data: Body[] }>().data;
  };
  assert.deepEqual(
    (await get("metrics")).map(({ split, step }) => [split, step]),
    [
      ["train", 0],
      ["val", 0],
    ],
  );
  const [only, ...others] = await get("trajectories?split=val");
  assert.deepEqual(others, []);
  const [group] = (only ?? {})["trajectory_groups"] as readonly { trajectories: readonly Body[] }[];
  assert.deepEqual(group?.trajectories[0], {
    messages_and_choices: [],
    tools: null,
    additional_histories: [],
    reward: 1,
    initial_policy_version: null,
    final_policy_version: null,
    metrics: {},
    metadata: {},
    logs: [],
    start_time: null,
    custom: "kept",
  });
  await server.close();
});

test("limits the size of a page of logs, and shows a log that does not fit without its trajectories", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const large = (letter: string) => ({ trajectories: [{ logs: [letter.repeat(3_000_000)] }] });
  for (const letters of [["a", "b"], ["c"], ["d"]]) {
    await log(server, modelId, { trajectory_groups: letters.map(large) });
  }
  const page = async (query: string) => {
    const url = `/v1/preview/models/${modelId}/trajectories${query}`;
    const answer = await server.ask({ method: "GET", url, headers });
    assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
    const { data, object, ...rest } = answer.json<Body & { data: Body[] }>();
    assert.equal(object, "list");
    assert.ok(answer.body.length < (4 << 20) + 4096);
    const groupCounts = data.map((one) => (one["trajectory_groups"] as readonly object[]).length);
    assert.deepEqual(
      data.map((one) => Number(one["left_out_bytes"] ?? 0) > 6_000_000),
      groupCounts.map((count) => count === 0),
    );
    const ids = data.map((one) => String(one["id"]));
    return { ids, groupCounts, ...(rest as { first_id: string; last_id: string; has_more: boolean }) };
  };
  const first = await page("");
  const [id, last] = first.ids;
  const ids = [id, last];
  assert.deepEqual(first, { ids, groupCounts: [0, 1], first_id: id, last_id: last, has_more: true });
  const second = await page(`?after=${last}`);
  assert.deepEqual([second.groupCounts, second.has_more], [[1], false]);
  const none = await page("?split=none");
  assert.deepEqual(none, { ids: [], groupCounts: [], first_id: "", last_id: "", has_more: false });
  await server.close();
});

test("locates a metric that must not be logged at its path", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const faulty = [{ trajectories: [] }, { trajectories: [{ metrics: { costs_judge: 1 } }] }];
  const answer = await log(server, modelId, { trajectory_groups: faulty });
  assert.equal(answer.statusCode, 422);
  assert.deepEqual(
    answer.json<{ detail: { loc: string[] }[] }>().detail.map(({ loc }) => loc.join(".")),
    ["body.trajectory_groups.1.trajectories.0.metrics.costs_judge"],
  );
  const { error } = answer.json<{ error: { message: string } }>();
  assert.match(error.message, /^trajectory_groups\.1\.trajectories\.0\.metrics\.costs_judge: Metric names /);
  await server.close();
});

test("refuses a log whose body names a different model than its path, and stores nothing", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const body = { trajectory_groups: groups, model_id: "01890000-0000-7000-8000-000000000000" };
  const answer = await log(server, modelId, body);
  assert.equal(answer.statusCode, 422, answer.body);
  const [fault] = answer.json<{ detail: { loc: string[]; msg: string }[] }>().detail;
  assert.deepEqual(fault?.loc, ["body", "model_id"]);
  assert.match(
    fault.msg,
    new RegExp(`the path names the model ${modelId}, and model_id is "${body.model_id}"`),
  );
  const metrics = await server.ask({ method: "GET", url: `/v1/preview/models/${modelId}/metrics`, headers });
  assert.deepEqual(metrics.json<{ data: unknown[] }>().data, []);
  const inCapitals = await log(server, modelId, { ...body, model_id: modelId.toUpperCase() });
  assert.equal(inCapitals.statusCode, 200, inCapitals.body);
  await server.close();
});

test("does not overwrite the training metrics of a version", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const figures = { "data/step_num_trajectories": 64, "loss/train": 0.5 };
  const job = { model_id: modelId, trajectory_groups: [] };
  await server.ask({ method: "POST", url: "/v1/preview/training-jobs", headers, payload: job });
  await playJob(server, { step: 1, metrics: figures });
  const said = { "loss/train": 7, "loss/extra": 1 };
  await log(server, modelId, { trajectory_groups: [{ trajectories: [{ reward: 1, metrics: said }] }] });
  const url = `/v1/preview/models/${modelId}/checkpoints?limit=1&order=desc`;
  const page = await server.ask({ method: "GET", url, headers });
  const [newest] = page.json<{ data: { step: number; metrics: Record<string, number> }[] }>().data;
  assert.equal(newest?.step, 1);
  assert.deepEqual([newest.metrics["val/reward"], newest.metrics["loss/extra"]], [1, 1]);
  assert.deepEqual({ ...newest.metrics, ...figures }, newest.metrics);
  await server.close();
});

test("logs to the named version or the one that generated the trajectories, and combines parts of a split there", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const job = { model_id: modelId, trajectory_groups: [] };
  await server.ask({ method: "POST", url: "/v1/preview/training-jobs", headers, payload: job });
  await playJob(server, { step: 1, metrics: {} });
  const part = (rewards: readonly number[], version: number | null) => [
    { trajectories: rewards.map((reward) => ({ reward, final_policy_version: version })) },
  ];
  const stepOf = async (body: object): Promise<unknown> => {
    const answer = await log(server, modelId, body);
    assert.equal(answer.headers["x-hone-ignored"], undefined);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<Body>()["step"];
  };
  assert.equal(await stepOf({ trajectory_groups: part([1, 1, 1], 0) }), 0);
  assert.equal(await stepOf({ trajectory_groups: part([0], null), step: 0 }), 0);
  assert.equal(await stepOf({ trajectory_groups: part([0.5], null), step: null }), 1);
  const url = `/v1/preview/models/${modelId}/checkpoints`;
  const page = await server.ask({ method: "GET", url, headers });
  const rewards = page
    .json<{ data: { metrics: Record<string, number> }[] }>()
    .data.map(({ metrics }) => metrics["val/reward"]);
  assert.deepEqual(rewards, [0.75, 0.5]);
  const late = await log(server, modelId, { trajectory_groups: part([1], null), step: 2 });
  assert.equal(late.statusCode, 404);
  const [fault] = late.json<{ detail: { loc: string[]; msg: string }[] }>().detail;
  assert.deepEqual(fault?.loc, ["body", "step"]);
  assert.match(fault?.msg ?? "", /no version 2 of this model yet; the newest is 1/);
  assert.equal((await log(server, modelId, { trajectory_groups: [], step: -1 })).statusCode, 422);
  await server.close();
});

test("logs, lists and counts rewards whose sum exceeds the range of numbers", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const great = [{ trajectories: [1, 2, 3, 4].map(() => ({ reward: 1e308 })) }];
  const answer = await log(server, modelId, { trajectory_groups: great });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.json<{ metrics: Record<string, number> }>().metrics["val/reward"], 1e308);
  await server.close();
});

test("refuses invalid requests and other entities' models", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  assert.equal((await log(server, modelId, { split: "" })).statusCode, 422);
  assert.equal(
    (await log(server, modelId, { trajectory_groups: [{ trajectories: [{ exchanges: {} }] }] })).statusCode,
    422,
  );
  assert.equal((await log(server, "unknown", { trajectory_groups: [] })).statusCode, 404);
  const url = `/v1/preview/models/${modelId}/metrics`;
  const other = await server.ask({ method: "GET", url, headers: { authorization: bearer(keys.other) } });
  assert.equal(other.statusCode, 403);
  const cursor = await server.ask({ method: "GET", url: `${url}?after=x`, headers });
  assert.equal(cursor.statusCode, 422);
  assert.deepEqual(cursor.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc, ["query", "after"]);
  await server.close();
});
