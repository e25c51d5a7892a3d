// Tests the tools of `hone mcp` with the protocol's own client library, on a server with in-memory stores.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Client, InMemoryTransport, type CallToolResult } from "@modelcontextprotocol/client";
import { basic, bearer, fakeServer, keys, playJob } from "../../../api/http/testing/fake-server.ts";
import { Hone } from "../../client/hone.ts";
import { mcpServers, tools } from "./serve-mcp.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

interface Place {
  readonly key: string;
  readonly isReadOnly: boolean;
  /** A server to use; by default a new one. */
  readonly server: Server | null;
}

async function connected(
  t: TestContext,
  { key = keys.member, isReadOnly = false, server = null }: Partial<Place> = {},
) {
  const own = server ?? (await fakeServer());
  own.chat.script.isTrained = true;
  const baseUrl = address(own) ?? (await own.app.listen({ host: "127.0.0.1", port: 0 }));
  const hone = new Hone({ baseUrl, apiKey: key, retries: 0 });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1" });
  const served = mcpServers(hone, { version: "1.2.3", isReadOnly })();
  await served.connect(far);
  await client.connect(near);
  t.after(async () => {
    await client.close();
    if (server === null) await own.close();
  });
  const ask = async (name: string, input: object = {}): Promise<CallToolResult> =>
    client.callTool({ name, arguments: { ...input } });
  /** Returns the structured result, which the client library has validated against the tool's schema. */
  const result = async (name: string, input: object = {}) => {
    const { isError, content, structuredContent } = await ask(name, input);
    assert.notEqual(isError, true, JSON.stringify(content));
    // Safe cast: the tests read the fields that the tool's schema declares.
    return structuredContent as Readonly<Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any
  };
  const refusal = async (name: string, input: object): Promise<string> => {
    const { isError, content } = await ask(name, input);
    assert.equal(isError, true, `${name} ${JSON.stringify(input)} is accepted`);
    const [first] = content;
    return first?.type === "text" ? first.text : "";
  };
  return { server: own, hone, client, ask, result, refusal };
}

/** Returns the address of a server that listens; undefined if it does not yet. */
function address({ app }: Server): string | undefined {
  const [bound] = app.addresses();
  return bound === undefined || typeof bound === "string" ? undefined : `http://127.0.0.1:${bound.port}`;
}

/** Returns the paths of texts and lists in a JSON Schema that have no maximum length. */
function unlimited(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, maxLength, maxItems, enum: values } = schema as Readonly<Record<string, unknown>>;
  const isUnlimited =
    (type === "string" && maxLength === undefined && values === undefined) ||
    (type === "array" && maxItems === undefined);
  const below = Object.entries(schema).flatMap(([name, value]) => unlimited(value, `${path}.${name}`));
  return isUnlimited ? [path, ...below] : below;
}

test("describes every tool and field, with limits and hints", async (t) => {
  const { client } = await connected(t);
  assert.deepEqual(client.getServerVersion(), { name: "hone", title: "Hone", version: "1.2.3" });
  assert.match(client.getInstructions() ?? "", /train_on_feedback/);
  const { tools: listed } = await client.listTools();
  assert.deepEqual(listed.map(({ name }) => name).sort(), tools.map(({ name }) => name).sort());
  const undescribed: string[] = [];
  for (const { name, title, description, annotations, inputSchema, outputSchema } of listed) {
    assert.ok((title ?? "") !== "" && (description ?? "").endsWith("."), name);
    assert.equal(annotations?.openWorldHint, false, name);
    assert.equal(typeof annotations?.readOnlyHint, "boolean", name);
    assert.equal(outputSchema?.type, "object", name);
    assert.equal(inputSchema["additionalProperties"], false, `${name} refuses unknown fields`);
    // Keys of a payload, of answers and of terms are limited by the server.
    const free = unlimited(inputSchema.properties, name).filter((path) => !path.includes("propertyNames"));
    assert.deepEqual(free, [], name);
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
      if (!("description" in (schema as object)) && !("enum" in (schema as object)))
        undescribed.push(`${name}.${field}`);
  }
  assert.deepEqual(undescribed, []);
  const destructive = listed.filter(({ annotations }) => annotations?.destructiveHint === true);
  assert.deepEqual(
    destructive.map(({ name }) => name),
    ["cancel_job"],
  );
});

test("offers only tools without effects if it is read-only", async (t) => {
  const { client, refusal } = await connected(t, { isReadOnly: true });
  const { tools: listed } = await client.listTools();
  assert.ok(listed.length > 8);
  assert.ok(listed.every(({ annotations }) => annotations?.readOnlyHint === true));
  await assert.rejects(refusal("chat", { messages: [{ role: "user", content: "Hi" }] }), /chat not found/);
});

test("chats with a model, judges the answers, and lists both page by page", async (t) => {
  const { server, result } = await connected(t);
  const created = await result("create_model", { name: "games/agent", base_model: "tiny" });
  assert.equal(created["name"], "acme/games/agent");
  const again = await result("create_model", { name: "games/agent", base_model: "tiny" });
  assert.equal(again["id"], created["id"]);
  await result("create_model", { name: "games/other", base_model: "small" });
  const first = await result("list_models", { limit: 1 });
  assert.deepEqual(first["base_models"], ["tiny", "small"]);
  const second = await result("list_models", { limit: 1, after: first["next"] });
  const names = [...first["items"], ...second["items"]].map(({ name }: { name: string }) => name);
  assert.deepEqual([names.sort(), second["next"]], [["acme/games/agent", "acme/games/other"], null]);

  const messages = [{ role: "user", content: "Hi" }];
  const chat = await result("chat", { model: "games/agent@0", messages, n: 2, temperature: 0.5, seed: 3 });
  assert.deepEqual(
    chat["answers"].map(({ text, finish_reason }: { text: string; finish_reason: string }) => [
      text,
      finish_reason,
    ]),
    [
      ["Hello", "stop"],
      ["Hello", "stop"],
    ],
  );
  const { request } = server.chat.seen.at(-1) ?? assert.fail();
  assert.equal(request.identity.model, "games/agent:step0");
  assert.equal(request.sampling.temperature, 0.5);

  const on = "hone:///acme/games/call/1f2e";
  const better = await result("add_feedback", { on, choice: 1, better_than: on, better_than_choice: 0 });
  assert.equal(better["reference"], `${on}/attr/choices/index/1`);
  await result("add_feedback", { on: "1f2e", project: "games", emoji: "👍", creator: "Ann" });
  await result("add_feedback", { on, type: "rating", payload: { stars: 4 } });
  assert.deepEqual(
    server.feedback.seen.map(({ input }) => [input.projectId, input.feedbackType, input.creator]),
    [
      ["acme/games", "preference", null],
      ["acme/games", "vendor.reaction.1", "Ann"],
      ["acme/games", "rating", null],
    ],
  );
  const page = await result("list_feedback", { project: "games", limit: 2 });
  const rest = await result("list_feedback", { project: "games", limit: 2, after: page["next"] });
  assert.deepEqual([page["items"].length, rest["items"].length, rest["next"]], [2, 1, null]);
  assert.equal((await result("feedback_statistics", { project: "games" }))["total_count"], 0);
});

test("creates a job, reports its progress until it ends, and names the version", async (t) => {
  const { server, client, result } = await connected(t);
  const { id } = await result("create_model", { name: "games/agent", base_model: "tiny" });
  const answer = await server.ask({
    method: "POST",
    url: "/v1/preview/training-jobs",
    headers: { authorization: bearer(keys.member) },
    payload: { model_id: id, trajectory_groups: [] },
  });
  const jobId = answer.json<{ id: string }>().id;
  const waiting = await result("watch_job", { job: jobId.slice(0, 8), wait_seconds: 0 });
  assert.deepEqual(
    [waiting["has_ended"], waiting["job"].state, waiting["last_step"]],
    [false, "queued", null],
  );
  await playJob(server, {
    step: 1,
    events: [
      { type: "gradient_step", data: { loss: 2 } },
      { type: "gradient_step", data: { loss: 1 } },
      { type: "training_ended", data: {} },
    ],
    metrics: { "train/reward": 0.5, "loss/kl_div": 0.1 },
  });
  const steps: number[] = [];
  const { structuredContent } = await client.callTool(
    { name: "watch_job", arguments: { job: jobId } },
    { onprogress: ({ progress }) => void steps.push(progress) },
  );
  const ended = structuredContent as Readonly<Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any
  assert.deepEqual(steps, [1, 2]);
  assert.deepEqual(
    [ended["has_ended"], ended["job"].state, ended["job"].result_step, ended["last_step"].loss],
    [true, "succeeded", 1, 1],
  );
  const { items } = await result("list_versions", { model: "games/agent" });
  assert.deepEqual([items[0].name, items[0].metrics], ["acme/games/agent:step1", { "train/reward": 0.5 }]);
  const all = await result("list_versions", { model: "games/agent", limit: 1, all_metrics: true });
  assert.equal(all["items"][0].metrics["loss/kl_div"], 0.1);
  assert.equal((await result("show_job", { job: jobId }))["job"].id, jobId);
  assert.equal((await result("list_jobs", { model: "games/agent", state: "succeeded" }))["items"].length, 1);
  assert.equal((await result("cancel_job", { job: jobId }))["state"], "succeeded");
});

test("works as an annotator: claims items, answers them, and leaves one", async (t) => {
  const { server, result, refusal } = await connected(t);
  const headers = { authorization: basic(keys.member) };
  const created = await server.ask({
    method: "POST",
    url: "/annotation_queues",
    headers,
    payload: {
      project_id: "acme/games",
      name: "tone",
      questions: [{ name: "kind", schema: { type: "boolean" } }],
    },
  });
  const { id } = created.json<{ id: string }>();
  for (const call of ["one", "two"])
    await server.ask({
      method: "POST",
      url: `/annotation_queues/${id}/items`,
      headers,
      payload: { project_id: "acme/games", call_ids: [call] },
    });
  const { items } = await result("list_queues", { project: "games" });
  assert.deepEqual([items[0].name, items[0].questions], ["acme/games/tone", ["kind"]]);
  const queue = "games/tone";
  const claimed = await result("claim_item", { queue, annotator: "Ann" });
  assert.deepEqual(
    [claimed["open"], claimed["annotator"], claimed["questions"][0].kind],
    [2, "Ann", "boolean"],
  );
  const same = await result("claim_item", { queue, annotator: "Ann" });
  assert.equal(same["item"].id, claimed["item"].id);
  const place = { queue, item_id: claimed["item"].id, annotator: "Ann" };
  assert.match(await refusal("answer_item", { ...place, answers: { kind: "maybe" } }), /kind/);
  const answered = await result("answer_item", { ...place, answers: { kind: true } });
  assert.deepEqual([answered["state"], answered["feedback_ids"].length], ["completed", 1]);
  const next = await result("claim_item", { queue, annotator: "Ann" });
  const left = await result("leave_item", { ...place, item_id: next["item"].id, action: "skip" });
  assert.equal(left["state"], "skipped");
  assert.equal((await result("claim_item", { queue, annotator: "Ann" }))["item"], null);
});

test("refuses invalid input by naming the field, the value and the remedy", async (t) => {
  const { result, refusal } = await connected(t);
  await result("create_model", { name: "games/agent", base_model: "tiny" });
  const model = "games/agent";
  const on = "hone:///acme/games/call/1";
  for (const [name, input, expected] of [
    ["list_jobs", { limit: 101 }, /limit: .*100/],
    ["list_jobs", { sort: "up" }, /Unrecognized key.*sort/],
    ["list_jobs", { model: "games/none" }, /"games\/none" does not exist.*list_models/],
    ["show_job", { job: "abc" }, /No training job has an id that begins with "abc"/],
    ["create_model", { name: "agent", base_model: "tiny" }, /project\/name/],
    ["create_model", { name: model, base_model: "small" }, /exists over the base model tiny/],
    ["chat", { messages: [] }, /messages/],
    ["chat", { messages: [{ role: "user", content: "Hi" }], n: 9 }, /n: .*8/],
    ["add_feedback", { on, emoji: "👍", note: "x" }, /2 of emoji, note, payload and better_than/],
    ["add_feedback", { on, type: "rating" }, /0 of emoji/],
    ["add_feedback", { on, payload: {} }, /type and payload belong together/],
    ["add_feedback", { on, emoji: "👍", better_than_choice: 1 }, /without better_than/],
    ["add_feedback", { on: "unknown", emoji: "👍" }, /no recorded completion "unknown"/],
    ["list_feedback", { project: "games", after: "x" }, /after is "x"/],
    ["train_on_feedback", { model }, /0 of reactions, terms and rule/],
    ["train_on_feedback", { model, rule: "games/none" }, /No reward rule has the name "games\/none"/],
    ["train_on_feedback", { model, terms: [{ kind: "number" }] }, /feedback_type/],
    ["train_on_rollouts", { model, rollout_ids: ["a"], group: "g" }, /rollout_ids and group/],
    ["judge_answers", { task: "t", answers: ["a"], rubric: "r" }, /answers/],
    ["claim_item", { queue: "games/none" }, /No annotation queue has the name "none"/],
  ] as const)
    assert.match(await refusal(name, input), expected);
});

test("reaches only what its key may reach", async (t) => {
  const { server, result } = await connected(t);
  const { id } = await result("create_model", { name: "games/agent", base_model: "tiny" });
  const other = await connected(t, { key: keys.other, server });
  assert.deepEqual((await other.result("list_models"))["items"], []);
  assert.deepEqual((await other.result("list_jobs"))["items"], []);
  for (const [name, input] of [
    ["list_versions", { model: id }],
    ["list_versions", { model: "acme/games/agent" }],
    ["list_jobs", { model: "acme/games/agent" }],
    ["list_rollouts", { model: id }],
    ["list_queues", { project: "acme/games" }],
    ["train_on_feedback", { model: id, reactions: { "👍": 1 } }],
    ["train_on_rollouts", { model: id }],
  ] as const)
    assert.match(
      await other.refusal(name, input),
      /does not exist|not allowed|another entity|access|belongs/i,
      name,
    );
  const without = await connected(t, { key: "hone_wrong", server });
  assert.match(await without.refusal("list_models", {}), /HONE_API_KEY/);
});

test("stops the answer if the client cancels the call", async (t) => {
  const { server, client } = await connected(t);
  server.chat.script.hangs = true;
  const seen = server.chat.nextSeen();
  const aborted = new Promise<void>((resolve) => (server.chat.onAbort = resolve));
  const stop = new AbortController();
  const call = client.callTool(
    { name: "chat", arguments: { messages: [{ role: "user", content: "Hi" }] } },
    { signal: stop.signal },
  );
  const ends = assert.rejects(call);
  await seen;
  stop.abort();
  await ends;
  await aborted;
});

test("limits concurrent calls and the length of a result", async (t) => {
  const { server, refusal, ask } = await connected(t);
  const messages = [{ role: "user", content: "Hi" }];
  server.chat.script.pieces = [{ text: "long ".repeat(50_000) }];
  assert.match(await refusal("chat", { messages }), /The result has \d+ characters; the maximum is 200000/);
  let open = (): void => undefined;
  server.chat.script.pieces = [{ text: "Hi" }];
  server.chat.script.opens = new Promise((resolve) => (open = resolve));
  const running = Array.from({ length: 32 }, () => ask("chat", { messages }));
  assert.match(await refusal("list_models", {}), /32 tool calls are running, the maximum/);
  open();
  for (const { isError } of await Promise.all(running)) assert.notEqual(isError, true);
});
