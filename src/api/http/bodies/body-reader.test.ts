// Tests that large bodies, which a worker reads, give the same results as small bodies, which the main thread reads.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { basic, bearer, fakeServer, keys, registeredModel } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
interface Refusal {
  readonly detail: readonly { readonly loc: readonly string[]; readonly type: string }[];
}

/** A worker reads any body that contains this long text. */
const padding = "x".repeat(1 << 18);

function post(
  server: Server,
  url: string,
  payload: unknown,
  authorization = bearer(keys.member),
): Promise<LightMyRequestResponse> {
  const headers = { authorization, "content-type": "application/json" };
  return server.ask({ method: "POST", url, headers, payload: JSON.stringify(payload) });
}

test("answers a large chat like a small one", async () => {
  const server = await fakeServer();
  const chat = (content: string, rest: object = {}): Promise<LightMyRequestResponse> =>
    post(server, "/v1/chat/completions", { messages: [{ role: "user", content }], store: true, ...rest });
  const [small, large] = [await chat("Hi"), await chat(padding)];
  assert.equal(large.statusCode, 200, large.body);
  assert.equal(large.headers["x-hone-ignored"], small.headers["x-hone-ignored"]);
  const prompt = server.chat.seen[1]?.request.prompt;
  assert.ok(prompt?.kind === "conversation");
  assert.equal(prompt.messages[0]?.content, padding);
  const [smallRefusal, largeRefusal] = [await chat("Hi", { n: 0 }), await chat(padding, { n: 0 })];
  assert.equal(largeRefusal.statusCode, 422);
  assert.equal(largeRefusal.body, smallRefusal.body);
  await server.close();
});

test("stores a large training job and a large log like small ones", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const groups = (metadata: object): readonly object[] => [
    { trajectories: [{ reward: 1, metadata }, { reward: 0 }] },
    { trajectories: [], exceptions: [{ type: "E", metadata }] },
  ];
  const answers = [];
  for (const metadata of [{ a: "b" }, { a: padding }]) {
    const log = { trajectory_groups: groups(metadata), split: "train" };
    const logged = (await post(server, `/v1/preview/models/${modelId}/log`, log)).json<{ metrics: object }>();
    const job = { model_id: modelId, trajectory_groups: groups(metadata) };
    const created = await post(server, "/v1/preview/training-jobs", job);
    answers.push([created.statusCode, Object.keys(logged.metrics).filter((name) => !name.includes("cum"))]);
  }
  assert.deepEqual(answers[1], answers[0]);
  const faulty = { trajectory_groups: [...groups({ a: padding }), { trajectories: 5 }] };
  const refused = await post(server, `/v1/preview/models/${modelId}/log`, faulty);
  assert.deepEqual(
    refused.json<Refusal>().detail.map(({ loc }) => loc),
    [["body", "trajectory_groups", "2", "trajectories"]],
  );
  await server.close();
});

test("returns a trajectory group as it was sent, whether it is small, large, or stored in parts", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const url = `/v1/preview/models/${modelId}`;
  const sent = ["Hi", padding, "é".repeat(5 << 18)].map((content) => ({
    trajectories: [{ messages_and_choices: [{ role: "user", content }], reward: 0.5, mark: "kept" }],
    logs: ["a"],
  }));
  const logged = await post(server, `${url}/log`, { trajectory_groups: sent });
  assert.equal(logged.statusCode, 200, logged.body);
  const headers = { authorization: bearer(keys.member) };
  const shown = await server.ask({ method: "GET", url: `${url}/trajectories`, headers });
  const [log] = shown.json<{ data: readonly { trajectory_groups: typeof sent }[] }>().data;
  const said = (group: (typeof sent)[number] | undefined): unknown => ({
    logs: group?.logs,
    trajectories: group?.trajectories.map(({ messages_and_choices: items, reward, mark }) => [
      items,
      reward,
      mark,
    ]),
  });
  assert.deepEqual(log?.trajectory_groups.map(said), sent.map(said));
  await server.close();
});

test("names each invalid record of a large batch in one answer, whether a field is missing, invalid or forbidden", async () => {
  const server = await fakeServer();
  const item = { project_id: "acme/p", vendor_ref: "w:///acme/p/call/1", feedback_type: "t", payload: {} };
  const batch = [
    { ...item, feedback_type: undefined },
    { ...item, feedback_type: "wandb.note.1", payload: { note: "" } },
    { ...item, project_id: "rival/p" },
    { ...item, payload: { padding } },
  ];
  const create = (records: readonly object[]): Promise<LightMyRequestResponse> =>
    post(server, "/feedback/batch/create", { batch: records }, basic(keys.member));
  const refused = await create(batch);
  assert.equal(refused.statusCode, 422);
  assert.deepEqual(
    refused.json<Refusal>().detail.map(({ loc, type }) => `${loc.join(".")} ${type}`),
    [
      "body.batch.0.feedback_type missing",
      "body.batch.1.payload.note string_too_short",
      "body.batch.2.project_id forbidden",
    ],
  );
  const foreign = await create([item, batch[2] ?? item, batch[3] ?? item]);
  assert.equal(foreign.statusCode, 403);
  assert.deepEqual(foreign.json<Refusal>().detail[0]?.loc, ["body", "batch", "1", "project_id"]);
  assert.equal(server.feedback.seen.length, 0);
  assert.equal((await create([item, batch[3] ?? item])).statusCode, 200);
  assert.deepEqual(server.feedback.seen[1]?.input.payload, { padding });
  await server.close();
});
