// Stored trajectories as rows: filters, pages and exported files. The tests read Parquet files back with another
// library.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parquetReadObjects } from "hyparquet";
import { bearer, fakeServer, keys, registeredModel } from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Row = Readonly<Record<string, unknown>>;

const ask = (server: Server, url: string, payload?: object, key: string = keys.member) =>
  server.ask({
    method: payload === undefined ? "GET" : "POST",
    url,
    headers: { authorization: bearer(key) },
    ...(payload === undefined ? {} : { payload }),
  });

const trajectory = (reward: number, metadata: object = {}, extra: object = {}) => ({
  messages_and_choices: [{ role: "user", content: `worth ${reward}` }],
  reward,
  metadata,
  metrics: { won: reward > 0 },
  ...extra,
});

interface World {
  readonly server: Server;
  readonly url: string;
  readonly jobId: string;
}

let shared: Promise<World> | undefined;
/** Server that all tests share, because they change nothing. */
const stored = (): Promise<World> => (shared ??= newWorld());
after(async () => (await shared)?.server.close());

/** Creates a server and a model with two logs, at steps 0 and 1, and a waiting job. */
async function newWorld(): Promise<World> {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const url = `/v1/preview/models/${id}`;
  const groups = [
    { trajectories: [trajectory(0, { scene: 7 }), trajectory(1, { scene: "b" })], metadata: { kind: "x" } },
    { trajectories: [], metadata: { kind: "x" } },
    { trajectories: [trajectory(-2.5, { nested: { a: [1] } }, { initial_policy_version: 3, note: "é" })] },
  ];
  const log = async (split: string, trajectoryGroups: readonly object[]) => {
    const answer = await ask(server, `${url}/log`, { split, trajectory_groups: trajectoryGroups });
    assert.equal(answer.statusCode, 200, answer.body);
  };
  await log("val", groups);
  const draft = {
    id: "v1",
    modelId: id,
    metrics: {},
    base: null,
    adapterHash: null,
    createdAt: new Date(1000),
  };
  await server.models.addVersion(draft, async () => "folder");
  await log("train", [{ trajectories: [trajectory(5, {}, { logs: ["l".repeat(5 << 18)] }), trajectory(6)] }]);
  const job = { model_id: id, trajectory_groups: [{ trajectories: [trajectory(9), trajectory(8)] }] };
  const created = await ask(server, "/v1/preview/training-jobs", job);
  return { server, url, jobId: created.json<{ id: string }>().id };
}

async function rewards({ server, url }: World, query: string) {
  const answer = await ask(server, `${url}/trajectories/rows?limit=100&${query}`);
  assert.equal(answer.statusCode, 200, answer.body);
  const { data, has_more: hasMore } = answer.json<{ data: Row[]; has_more: boolean }>();
  assert.equal(hasMore, false);
  return data.map((row) => row["reward"]);
}

test("lists logged trajectories with their positions and everything that was sent with them", async () => {
  const world = await stored();
  const answer = await ask(world.server, `${world.url}/trajectories/rows?limit=3`);
  const { data } = answer.json<{ data: Row[] }>();
  const { id, source_id: sourceId, recorded_at: recordedAt, ...row } = data[2];
  assert.equal(id, `${String(sourceId)}.2.2.0`);
  assert.match(String(recordedAt), /Z$/);
  assert.deepEqual(row, {
    source: "log",
    split: "val",
    step: 0,
    group_index: 2,
    index: 0,
    group_metadata: {},
    group_metrics: {},
    messages_and_choices: [{ role: "user", content: "worth -2.5" }],
    tools: null,
    additional_histories: [],
    reward: -2.5,
    initial_policy_version: 3,
    final_policy_version: null,
    metrics: { won: false },
    metadata: { nested: { a: [1] } },
    logs: [],
    start_time: null,
    note: "é",
  });
});

test("filters by split, step, reward, metadata, time, and log or job", async () => {
  const world = await stored();
  const { data } = (await ask(world.server, `${world.url}/trajectories/rows`)).json<{ data: Row[] }>();
  const logId = String(data[0]["source_id"]);
  for (const [query, expected] of [
    ["", [0, 1, -2.5, 5, 6]],
    ["split=val", [0, 1, -2.5]],
    ["step=1", [5, 6]],
    ["reward_min=1", [1, 5, 6]],
    ["reward_min=-2.5&reward_max=0.5", [0, -2.5]],
    ["reward_max=-1e0", [-2.5]],
    ["metadata=scene=7", [0]],
    ["metadata=scene=b", [1]],
    ["metadata=scene=%22b%22", [1]],
    ["metadata=kind=x", [0, 1]],
    ["metadata=kind=x&metadata=scene=b", [1]],
    ["metadata=nested=%7B%22a%22:[1]%7D", [-2.5]],
    [`log_id=${logId}`, [0, 1, -2.5]],
    [`log_id=${logId}&split=train`, []],
    ["recorded_from=2000-01-01T00:00:00Z", [0, 1, -2.5, 5, 6]],
    ["recorded_before=2000-01-01T00:00:00Z", []],
    ["text=WORTH", [0, 1, -2.5, 5, 6]],
    ["text=worth%20-2.5", [-2.5]],
    ["text=scene", []],
    ["source=jobs", [9, 8]],
    [`job_id=${world.jobId}`, [9, 8]],
    ["source=jobs&split=val", []],
    ["source=jobs&step=0", []],
    [`job_id=${world.jobId}&reward_min=8.5`, [9]],
  ] as const) {
    assert.deepEqual(await rewards(world, query), expected, query);
  }
});

test("continues after the last row of a page, in any group and log", async () => {
  const world = await stored();
  for (const [source, expected] of [
    ["logs", [0, 1, -2.5, 5, 6]],
    ["jobs", [9, 8]],
  ] as const) {
    for (const limit of [1, 2]) {
      const found: unknown[] = [];
      for (let after = "", hasMore = true; hasMore;) {
        const url = `${world.url}/trajectories/rows?source=${source}&limit=${limit}&after=${after}`;
        const page = (await ask(world.server, url)).json<{
          data: Row[];
          last_id: string;
          has_more: boolean;
        }>();
        assert.ok(page.data.length <= limit);
        found.push(...page.data.map((row) => row["reward"]));
        ({ last_id: after, has_more: hasMore } = page);
      }
      assert.deepEqual(found, expected);
    }
  }
});

test("limits the size of a page, and shows a row that does not fit with only its short fields and its size", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const url = `/v1/preview/models/${id}`;
  const large = [1, 2, 3].map((reward) => trajectory(reward, {}, { logs: ["x".repeat(2 << 20)] }));
  const huge = trajectory(4, {}, { logs: ["x".repeat(5 << 20)] });
  await ask(server, `${url}/log`, { trajectory_groups: [{ trajectories: large }, { trajectories: [huge] }] });
  const pages: (readonly Row[])[] = [];
  for (let after = "", hasMore = true; hasMore;) {
    const answer = await ask(server, `${url}/trajectories/rows?after=${after}`);
    assert.ok(answer.body.length <= (4 << 20) + 1024);
    const page = answer.json<{ data: Row[]; last_id: string; has_more: boolean }>();
    pages.push(page.data);
    ({ last_id: after, has_more: hasMore } = page);
  }
  assert.deepEqual(
    pages.map((rows) => rows.map((row) => row["reward"])),
    [[1], [2], [3, 4]],
  );
  const { reward, logs, left_out_bytes: leftOut, index } = pages[2][1];
  assert.deepEqual([reward, logs, index], [4, [], 0]);
  assert.ok(Number(leftOut) > 5 << 20);
  const whole = await ask(server, `${url}/trajectories/export?format=jsonl`);
  assert.equal(whole.body.split("\n")[3].length + 1, leftOut);
  await server.close();
});

test("writes the rows of a page as JSON lines", async () => {
  const world = await stored();
  const { data } = (await ask(world.server, `${world.url}/trajectories/rows`)).json<{ data: Row[] }>();
  const answer = await ask(world.server, `${world.url}/trajectories/export?format=jsonl`);
  assert.equal(answer.headers["content-disposition"], 'attachment; filename="m-trajectories.jsonl"');
  const lines = answer.body.split("\n");
  assert.equal(lines.pop(), "");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    data,
  );
  const none = await ask(world.server, `${world.url}/trajectories/export?format=jsonl&reward_min=99`);
  assert.deepEqual([none.statusCode, none.body], [200, ""]);
});

test("writes a line for each group, of any size, with everything except its trajectories", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const url = `/v1/preview/models/${id}`;
  const large = Array.from({ length: 3 }, (_, index) =>
    trajectory(index, {}, { logs: ["é]}".repeat(1 << 18)] }),
  );
  const members = { exceptions: [], metadata: {}, metrics: {}, logs: [] };
  const failed = [{ type: "E", message: '"]}' }];
  const groups: readonly ({ readonly trajectories: readonly object[] } & Row)[] = [
    { trajectories: [trajectory(1), trajectory(2)], ...members, exceptions: failed, metrics: { a: 1.5 } },
    { trajectories: large, ...members, logs: ["é".repeat(5 << 18), 7], exceptions: failed },
    { trajectories: [], ...members, metadata: { source: "mine" }, source: "own", note: [1] },
  ];
  const logged = await ask(server, `${url}/log`, { split: "train", trajectory_groups: groups });
  assert.equal(logged.statusCode, 200, logged.body);
  const { data } = (await ask(server, `${url}/trajectories/rows?limit=1`)).json<{ data: Row[] }>();
  const answer = await ask(server, `${url}/trajectories/export?format=groups`);
  assert.equal(answer.headers["content-disposition"], 'attachment; filename="m-groups.jsonl"');
  assert.equal(answer.headers["content-type"], "application/jsonl");
  const lines = answer.body.split("\n");
  assert.equal(lines.pop(), "");
  const { source, source_id: sourceId, split, step, recorded_at: recordedAt } = data[0];
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    groups.map(({ trajectories, ...rest }, index) => {
      const { exceptions, metadata, metrics, logs, ...extra } = rest;
      const place = { source, source_id: sourceId, split, step, recorded_at: recordedAt };
      const counts = { group_index: index, trajectory_count: trajectories.length };
      return { ...place, ...counts, exceptions, metadata, metrics, logs, extra };
    }),
  );
  const none = await ask(server, `${url}/trajectories/export?format=groups&split=val`);
  assert.deepEqual([none.statusCode, none.body], [200, ""]);
  await server.close();
});

test("exports the groups of a training job", async () => {
  const { server, url, jobId } = await stored();
  const { body } = await ask(server, `${url}/trajectories/export?format=groups&job_id=${jobId}`);
  const { source_id: sourceId, trajectory_count: count } = JSON.parse(body) as Row;
  assert.deepEqual([sourceId, count], [jobId, 2]);
});

test("refuses a supervised job, whose data has no trajectories", async () => {
  const { server, url } = await stored();
  const lesson = {
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ],
  };
  const body = { model_id: url.split("/").at(-1), training_data: [lesson] };
  const { id } = (await ask(server, "/v1/preview/sft-training-jobs", body)).json<{ id: string }>();
  for (const route of [
    "rows?source=jobs",
    "export?source=jobs&format=jsonl",
    "export?source=jobs&format=groups",
  ]) {
    const answer = await ask(server, `${url}/trajectories/${route}&job_id=${id}`);
    assert.deepEqual([answer.statusCode, /supervised/.test(answer.body)], [422, true], route);
  }
});

test("writes Parquet files that another library reads, even without rows", async () => {
  const world = await stored();
  const read = async (query: string): Promise<readonly Row[]> => {
    const { rawPayload } = await ask(world.server, `${world.url}/trajectories/export?format=parquet${query}`);
    const file = rawPayload.buffer.slice(rawPayload.byteOffset, rawPayload.byteOffset + rawPayload.length);
    return (await parquetReadObjects({ file: file as ArrayBuffer })) as readonly Row[];
  };
  const { data } = (await ask(world.server, `${world.url}/trajectories/rows`)).json<{ data: Row[] }>();
  const rows = await read("");
  assert.equal(rows.length, data.length);
  rows.forEach((row, index) => {
    const { note, ...sent } = data[index];
    for (const [name, value] of Object.entries(sent)) {
      const found = row[name];
      const isText = ["id", "source", "source_id", "split"].includes(name);
      if (typeof value === "number" || value === null || isText) {
        const expected = value === null && name === "tools" ? "null" : value;
        assert.deepEqual(typeof found === "bigint" ? Number(found) : (found ?? null), expected, name);
      } else if (name === "recorded_at") assert.deepEqual(found, new Date(value as string));
      else assert.deepEqual(JSON.parse(String(found)), value, name);
    }
    assert.deepEqual(JSON.parse(String(row["extra"])), note === undefined ? {} : { note });
  });
  assert.deepEqual(await read("&reward_min=99"), []);
});

test("keeps every byte of a text in Parquet and JSON lines, including texts that look like spreadsheet formulas", async () => {
  const server = await fakeServer();
  const url = `/v1/preview/models/${await registeredModel(server)}`;
  const texts = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r\n=1",
    "'=1",
    '=HYPERLINK("http://x")',
    "＝1",
    "é\u{1f600}\0",
  ];
  const trajectories = texts.map((content, index) => ({
    messages_and_choices: [{ role: "user", content }],
    reward: index,
    metadata: { [content]: content },
    note: content,
  }));
  const logged = await ask(server, `${url}/log`, { split: "val", trajectory_groups: [{ trajectories }] });
  assert.equal(logged.statusCode, 200, logged.body);
  const { rawPayload } = await ask(server, `${url}/trajectories/export?format=parquet`);
  const file = rawPayload.buffer.slice(rawPayload.byteOffset, rawPayload.byteOffset + rawPayload.length);
  const rows = (await parquetReadObjects({ file: file as ArrayBuffer })) as readonly Row[];
  assert.deepEqual(
    rows.map(({ messages_and_choices: messages, metadata, extra }) => [messages, metadata, extra]),
    trajectories.map(({ messages_and_choices: messages, metadata, note }) =>
      [messages, metadata, { note }].map((value) => JSON.stringify(value)),
    ),
  );
  const lines = (await ask(server, `${url}/trajectories/export?format=jsonl`)).body.trim().split("\n");
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as Row)["note"]),
    texts,
  );
  await server.close();
});

test("refuses invalid queries, and other entities' models", async () => {
  const { server, url, jobId } = await stored();
  for (const [query, place] of [
    ["rows?after=x", "query,after"],
    [`rows?after=${jobId}.0.0.0`, "query,after"],
    ["rows?limit=0", "query,limit"],
    ["rows?reward_min=low", "query,reward_min"],
    ["rows?metadata=scene", "query,metadata"],
    ["rows?recorded_from=yesterday", "query,recorded_from"],
    [`rows?source=logs&job_id=${jobId}`, "query,job_id"],
    ["rows?source=elsewhere", "query,source"],
    ["export", "query,format"],
    ["export?format=csv", "query,format"],
    ["export?format=groups&reward_min=1", "query,reward_min"],
    ["export?format=groups&metadata=a=b", "query,metadata"],
    ["export?format=groups&text=a", "query,text"],
    ["export?format=groups&recorded_from=yesterday", "query,recorded_from"],
  ]) {
    const answer = await ask(server, `${url}/trajectories/${query}`);
    assert.equal(answer.statusCode, 422, `${query}: ${answer.body}`);
    assert.equal(answer.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc.join(), place, query);
  }
  assert.equal((await ask(server, `${url}/trajectories/rows`, undefined, keys.other)).statusCode, 403);
});
