// Training files made from traced chats: rows, omitted chats, scores, and the checks that jobs make of such files.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { basic, bearer, keys } from "../testing/fake-server.ts";
import { feedbackServer } from "../testing/feedback-server.ts";

interface Dataset {
  readonly file_id: string | null;
  readonly row_count: number;
  readonly call_count: number;
  readonly left_out: Readonly<Record<string, number>>;
  readonly has_more: boolean;
  readonly rows: readonly object[];
}

const url = "/v1/preview/projects/acme/games/datasets/from-traces";
const system = { role: "system", content: "Be brief." };
const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });

async function server(t: TestContext) {
  const server = await feedbackServer();
  t.after(() => server.close());
  const post = (path: string, payload: object, authorization = bearer(keys.member)) =>
    server.ask({ method: "POST", url: path, headers: { authorization }, payload });
  let count = 0;
  /** Records a chat with its answers, and a score of it or of its trace. */
  const record = async (
    messages: readonly object[],
    answer: object,
    {
      score,
      trace,
      finish = "stop",
      op = "chat",
    }: {
      readonly score?: number;
      readonly trace?: number;
      readonly finish?: string;
      readonly op?: string;
    } = {},
  ) => {
    const id = `c${++count}`;
    const time = `2026-11-30T00:00:${String(count).padStart(2, "0")}Z`;
    const call = {
      project_id: "acme/games",
      id,
      trace_id: `t${count}`,
      op_name: op,
      attributes: {},
      started_at: time,
      ended_at: time,
      inputs: { messages },
      output: { choices: [{ message: answer, finish_reason: finish }] },
      summary: {},
    };
    const stored = await post("/v2/acme/games/calls/complete", { batch: [call] }, basic(keys.member));
    assert.equal(stored.statusCode, 200, stored.body);
    const authorization = `Basic ${Buffer.from(`games:${keys.member}`).toString("base64")}`;
    const scores = [
      ...(score === undefined
        ? []
        : [{ traceId: `t${count}`, observationId: id, name: "quality", value: score }]),
      ...(trace === undefined ? [] : [{ traceId: `t${count}`, name: "quality", value: trace }]),
    ];
    if (scores.length > 0) await post("/api/public/scores", scores, authorization);
  };
  const dataset = async (body: object): Promise<Dataset> => {
    const answer = await post(url, body);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json<Dataset>();
  };
  const fileText = async (id: string | null) =>
    (
      await server.app.inject({
        url: `/v1/files/${id}/content`,
        headers: { authorization: bearer(keys.member) },
      })
    ).body;
  return { ...server, post, record, dataset, fileText };
}

test("makes conversations of chats, without repeated, continued, cut off and other calls", async (t) => {
  const { record, dataset, fileText } = await server(t);
  await record([system, user("Hi")], assistant("Hello"));
  await record([system, user("Hi")], assistant("Hello"));
  await record([system, user("Hi"), assistant("Hello"), user("Bye")], assistant("So long"));
  await record([user("Count")], assistant("1 2"), { finish: "length" });
  await record([user("See")], {
    role: "assistant",
    content: [{ type: "image_url", image_url: { url: "x" } }],
  });
  await record([], assistant("no prompt"), { op: "tool" });
  const whole = [system, user("Hi"), assistant("Hello"), user("Bye"), assistant("So long")];
  const dry = await dataset({ kind: "supervised", dry_run: true });
  assert.deepEqual([dry.file_id, dry.row_count, dry.call_count, dry.has_more], [null, 1, 6, false]);
  assert.deepEqual(dry.rows, [{ messages: whole }]);
  assert.deepEqual(dry.left_out, {
    "the answer was cut off": 1,
    "the call is no chat": 1,
    "it repeats another chat": 1,
    "it is the beginning of another conversation": 1,
    "Only text trains.": 1,
  });
  const made = await dataset({ kind: "supervised" });
  assert.equal(await fileText(made.file_id), `${JSON.stringify({ messages: whole })}\n`);
  const { rows } = await dataset({ kind: "distillation", dry_run: true });
  const context = [
    system,
    user("Hi"),
    { ...assistant("Hello"), weight: 0 },
    user("Bye"),
    assistant("So long"),
  ];
  assert.deepEqual(rows, [{ messages: [system, user("Hi"), assistant("Hello")] }, { messages: context }]);
});

test("selects chats by the score of the call or of its trace, by name, time and number", async (t) => {
  const { record, dataset } = await server(t);
  await record([user("1")], assistant("a"), { score: 0.9 });
  await record([user("2")], assistant("b"), { score: 0.2, trace: 1 });
  await record([user("3")], assistant("c"), { trace: 1, op: "other" });
  await record([user("4")], assistant("d"));
  const answers = async (body: object) => {
    const { rows } = await dataset({ kind: "supervised", dry_run: true, ...body });
    return rows.map((row) => JSON.stringify(row).at(-5)).join("");
  };
  assert.equal(await answers({ score: { name: "quality", min: 0.5 } }), "ac");
  assert.equal(await answers({ score: { name: "quality" } }), "abc");
  assert.equal(await answers({ ops: ["other"] }), "c");
  assert.equal(await answers({ trace_ids: ["t1", "t4"] }), "ad");
  const times = { started_from: "2026-11-30T00:00:02Z", started_before: "2026-11-30T00:00:03Z" };
  assert.equal(await answers(times), "b");
  const first = await dataset({ kind: "supervised", dry_run: true, limit: 2 });
  assert.deepEqual([first.row_count, first.has_more], [2, true]);
});

test("pairs answers to the same prompt whose scores differ", async (t) => {
  const { record, dataset, post } = await server(t);
  await record([user("Joke")], assistant("good"), { score: 1 });
  await record([user("Joke")], assistant("bad"), { score: 0 });
  await record([user("Joke")], assistant("fair"), { score: 0.5 });
  await record([user("Else")], assistant("x"), { score: 1 });
  const { rows, left_out: leftOut } = await dataset({
    kind: "preference",
    score: { name: "quality" },
    dry_run: true,
  });
  const pair = (chosen: string, rejected: string) => ({
    prompt: [user("Joke")],
    chosen: [assistant(chosen)],
    rejected: [assistant(rejected)],
  });
  assert.deepEqual(rows, [pair("good", "bad"), pair("good", "fair")]);
  assert.deepEqual(leftOut, { "its prompt has no two answers with different scores": 1 });
  const missing = await post(url, { kind: "preference" });
  assert.match(missing.body, /"body","score".*Preferences need a score/);
});

test("refuses an empty file with the reasons, and projects of other entities", async (t) => {
  const { record, post } = await server(t);
  const none = await post(url, { kind: "supervised" });
  assert.deepEqual([none.statusCode, /no call matches/.test(none.body)], [422, true]);
  await record([user("Count")], assistant("1 2"), { finish: "length" });
  assert.match((await post(url, { kind: "supervised" })).body, /1 because the answer was cut off/);
  const foreign = await post(url, { kind: "supervised" }, bearer(keys.other));
  assert.equal(foreign.statusCode, 403);
});
