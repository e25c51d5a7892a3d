import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bearer,
  fakeServer,
  type FakeServerOptions,
  keys,
  registeredModel,
} from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

type Job = { readonly id: string } & Readonly<Record<string, unknown>>;

const path = "/v1/preview/sft-training-jobs";

async function withModel(
  options: FakeServerOptions = {},
): Promise<{ readonly server: Server; readonly modelId: string }> {
  const server = await fakeServer(options);
  return { server, modelId: await registeredModel(server) };
}

function post(server: Server, payload: object, headers: Readonly<Record<string, string>> = {}) {
  const base = { authorization: bearer(keys.member), "content-type": "application/json" };
  return server.ask({ method: "POST", url: path, headers: { ...base, ...headers }, payload });
}

/** Creates a job, and reads it back from the API. */
async function created(server: Server, payload: object): Promise<Job> {
  const answer = await post(server, payload);
  assert.equal(answer.statusCode, 200, answer.body);
  const url = `/v1/preview/training-jobs/${answer.json<{ id: string }>().id}`;
  return (await server.ask({ method: "GET", url, headers: { authorization: bearer(keys.member) } })).json();
}

async function refuses(server: Server, body: object, faults: Readonly<Record<string, RegExp>>) {
  const answer = await post(server, body);
  assert.equal(answer.statusCode, 422, answer.body);
  const { detail } = answer.json<Refusal>();
  assert.deepEqual(
    detail.map(({ loc }) => loc.slice(1).join(".")),
    Object.keys(faults),
    answer.body,
  );
  Object.values(faults).forEach((message, index) => assert.match(detail[index].msg, message));
}

async function stored(server: Server, id: string): Promise<readonly unknown[]> {
  const lines: unknown[] = [];
  for await (const line of (await server.jobs.trajectoryLines(id)) ?? []) lines.push(JSON.parse(line));
  return lines;
}

const user = { role: "user", content: "Hi" };
const answer = { role: "assistant", content: "Ho" };
const example = { messages: [user, answer] };

test("creates a job of the conversations, and fills in every default", async () => {
  const { server, modelId } = await withModel();
  const tools = [{ type: "function", function: { name: "f" } }];
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const rich = {
    messages: [
      { role: "system", content: [{ type: "text", text: "Be brief." }] },
      user,
      { role: "assistant", content: null, tool_calls: [call], weight: 0 },
      { role: "tool", tool_call_id: "c", content: "1" },
      { ...answer, weight: 1, reasoning_content: "Hm." },
    ],
    tools,
    chat_template_kwargs: { enable_thinking: false },
    future: 1,
  };
  const job = await created(server, { model_id: modelId, training_data: [example, rich] });
  const { chat_template_kwargs, future, messages } = rich;
  assert.deepEqual(await stored(server, job.id), [
    { ...example, tools: null, extra: {} },
    { messages, tools, extra: { chat_template_kwargs, future } },
  ]);
  assert.equal(job["kind"], "sft");
  assert.equal(job["experimental_config"], null);
  assert.deepEqual(job["config"], {
    base_precision: null,
    batch_size: 2,
    learning_rate: 5e-5,
    epochs: 1,
    shuffle: true,
    assistant_turns: "all",
    weight_decay: 0,
    max_grad_norm: 1,
  });
  await server.close();
});

test("applies settings as sent, and names those without effect", async () => {
  const { server, modelId } = await withModel();
  const job = await created(server, {
    model_id: modelId,
    training_data: [example, example, example],
    config: {
      base_precision: "int8",
      batch_size: 2,
      learning_rate: [1e-3, 2e-3, 3e-3, 4e-3],
      epochs: 2,
      metric_logging: {},
      warmup: 1,
      weight_decay: 0.1,
      max_grad_norm: 0,
      lr_scheduler: "constant",
    },
    experimental_config: { future: true },
  });
  assert.deepEqual(job["config"], {
    base_precision: "int8",
    batch_size: 2,
    learning_rate: [1e-3, 2e-3, 3e-3, 4e-3],
    epochs: 2,
    shuffle: true,
    assistant_turns: "all",
    weight_decay: 0.1,
    max_grad_norm: 0,
  });
  assert.deepEqual(job["config_not_applied"], ["warmup", "future"]);
  const why = "was sent and is not applied: this server has no option with this name.";
  assert.deepEqual(job["warnings"], [`warmup ${why}`, `future ${why}`]);
  const auto = { batch_size: "auto", learning_rate: null, epochs: null, shuffle: false };
  const last = { ...auto, assistant_turns: "last" };
  const other = await created(server, { model_id: modelId, training_data: [example], config: last });
  const optimizer = { weight_decay: 0, max_grad_norm: 1 };
  const effectiveConfig = {
    base_precision: null,
    batch_size: 2,
    learning_rate: 5e-5,
    epochs: 1,
    shuffle: false,
    ...optimizer,
  };
  assert.deepEqual(other["config"], { ...effectiveConfig, assistant_turns: "last" });
  assert.deepEqual(other["config_not_applied"], []);
  await server.close();
});

test("refuses known options that ask for unsupported behaviour, naming each", async () => {
  const { server, modelId } = await withModel();
  const body = { model_id: modelId, training_data: [example] };
  await refuses(
    server,
    {
      ...body,
      config: { lora_rank: 32, lr_scheduler: "cosine", warmup_ratio: 0.1, epochs: 1, num_epochs: 2 },
      experimental_config: { target_modules: ["q_proj"] },
    },
    {
      "config.lora_rank": /with the value 32.*when you register it/,
      "config.lr_scheduler": /"cosine"/,
      "config.warmup_ratio": /0\.1/,
      "config.num_epochs": /two spellings/,
      "experimental_config.target_modules": /lora_alpha and target_modules when you register it/,
    },
  );
  const { config } = await created(server, { ...body, config: { num_epochs: 2 } });
  assert.equal((config as { readonly epochs: unknown }).epochs, 2);
  await server.close();
});

test("refuses a conversation that does not end with an answer if only the last message is trained on", async () => {
  const { server, modelId } = await withModel();
  const training_data = [example, { messages: [user, answer, user] }];
  const body = { model_id: modelId, training_data };
  await refuses(
    server,
    { ...body, config: { assistant_turns: "last" } },
    { "training_data.1.messages.2.role": /must be the assistant's/ },
  );
  await created(server, { ...body, config: { assistant_turns: "all" } });
  await refuses(
    server,
    { ...body, config: { assistant_turns: "first" } },
    { "config.assistant_turns": /'all' or 'last'/ },
  );
  await server.close();
});

test("names each fault of the conversations, in small and large bodies", async () => {
  const { server, modelId } = await withModel();
  const call = (text: string) => ({ function: { name: "f", arguments: text } });
  const training_data = [
    example,
    { messages: [] },
    { messages: [user, { ...answer, weight: 2 }] },
    { messages: [user, { ...answer, weight: 0 }] },
    { messages: [user, { role: "assistant", content: null }] },
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }, answer] },
    { messages: [user, { role: "assistant", tool_calls: [call("{"), { id: "x" }] }] },
    { messages: [{ content: "?" }, answer], tools: {} },
    "text",
  ];
  const faults = {
    "training_data.1.messages": /at least 1/,
    "training_data.2.messages.1.weight": /less than or equal to 1/,
    "training_data.3.messages": /No message of the assistant trains/,
    "training_data.4.messages.1.content": /needs content or tool_calls/,
    "training_data.5.messages.0.content.0": /Only text/,
    "training_data.6.messages.1.tool_calls.0.function.arguments": /JSON/,
    "training_data.6.messages.1.tool_calls.1.function.name": /name/,
    "training_data.7.messages.0.role": /required/,
    "training_data.7.tools": /list/,
    "training_data.8": /object|dictionary/,
  };
  for (const padding of ["", "x".repeat(1 << 18)])
    await refuses(server, { model_id: modelId, training_data, padding }, faults);
  await server.close();
});

test("refuses the older spelling of a tool call, and names the newer one", async () => {
  const { server, modelId } = await withModel();
  const call = { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } };
  await refuses(
    server,
    { model_id: modelId, training_data: [{ messages: [{ role: "user", content: "hi" }, call] }] },
    { "training_data.0.messages.1.function_call": /older spelling of a call: send it in tool_calls/ },
  );
  await server.close();
});

test("refuses a job without conversations, with too many, or with learning rates for another number of batches", async () => {
  const { server, modelId } = await withModel({ settings: { trajectoryGroups: 2 } });
  const body = { model_id: modelId };
  await refuses(server, body, { training_data: /^Field required/ });
  await refuses(server, { ...body, training_data: [] }, { training_data: /empty/ });
  await refuses(
    server,
    { ...body, training_data: [example, example, example] },
    { training_data: /at most 2 .*Send them in several jobs\./ },
  );
  const two = { training_data: [example], training_data_url: "file-1" };
  await refuses(server, { ...body, ...two }, { training_data: /one of the two/ });
  const config = { learning_rate: [1e-3, 1e-3] };
  const rates = { "config.learning_rate": /2 learning rates.*make 1 batches/ };
  await refuses(server, { ...body, training_data: [example], config }, rates);
  await refuses(
    server,
    { ...body, training_data: [example], config: { batch_size: 0, learning_rate: [0], epochs: 0.5 } },
    {
      "config.batch_size": /at least|greater than or equal to 1/,
      "config.learning_rate.0": /greater than 0/,
      "config.epochs": /integer/,
    },
  );
  await server.close();
});

test("fetches nothing from other servers", async () => {
  const { server, modelId } = await withModel();
  for (const url of ["https://example.com/a.jsonl", "file:///etc/passwd", "http://127.0.0.1:1/x", "s3://b/k"])
    await refuses(
      server,
      { model_id: modelId, training_data_url: url },
      { training_data_url: /not a file on this server, and files on other servers are not fetched/ },
    );
  await server.close();
});

test("supports idempotency keys for jobs of each kind, and lists jobs of one kind", async () => {
  const { server, modelId } = await withModel();
  const body = { model_id: modelId, training_data: [example] };
  const key = { "idempotency-key": "k" };
  const first = (await post(server, body, key)).json<{ id: string }>();
  assert.deepEqual((await post(server, body, key)).json(), first);
  assert.equal((await post(server, { ...body, training_data: [example, example] }, key)).statusCode, 409);
  const headers = { authorization: bearer(keys.member) };
  const ids = async (kind: string): Promise<unknown> => {
    const url = `/v1/preview/training-jobs?kind=${kind}`;
    return (await server.ask({ method: "GET", url, headers }))
      .json<{ data: readonly { id: string }[] }>()
      .data.map(({ id }) => id);
  };
  assert.deepEqual([await ids("sft"), await ids("rl")], [[first.id], []]);
  await server.close();
});

test("trains on the stored data of an earlier supervised job, and refuses other jobs", async (t) => {
  const { server, modelId } = await withModel();
  t.after(() => server.close());
  const rest = { chat_template_kwargs: { enable_thinking: false } };
  const first = await created(server, {
    model_id: modelId,
    training_data: [example, { ...example, ...rest }],
  });
  const body = { model_id: modelId, training_data_url: `hone-job://${first.id}` };
  const again = await created(server, { ...body, config: { learning_rate: [0.1, 0.2], batch_size: 1 } });
  assert.deepEqual(await stored(server, again.id), await stored(server, first.id));
  assert.equal((await stored(server, again.id)).length, 2);
  await refuses(
    server,
    { ...body, config: { learning_rate: [0.1], batch_size: 1 } },
    { "config.learning_rate": /2 conversations/ },
  );
  const pairs = { model_id: modelId, pairs: [{ prompt: "Hi", chosen: "Ho", rejected: "Go" }] };
  const url = "/v1/preview/preference-training-jobs";
  const headers = { authorization: bearer(keys.member) };
  const { id } = (await server.ask({ method: "POST", url, headers, payload: pairs })).json<Job>();
  await refuses(
    server,
    { ...body, training_data_url: `hone-job://${id}` },
    { training_data_url: /is a preference job/ },
  );
  for (const missing of ["x", "019a0000-0000-7000-8000-000000000000"]) {
    const answer = await post(server, { ...body, training_data_url: `hone-job://${missing}` });
    assert.equal(answer.statusCode, 404, answer.body);
  }
  const asOther = async (at: string, payload: object) =>
    server.ask({ method: "POST", url: at, headers: { authorization: bearer(keys.other) }, payload });
  const model = { project: "p", name: "m", base_model: "tiny" };
  const { id: otherId } = (await asOther("/v1/preview/models", model)).json<Job>();
  const answer = await asOther(path, { ...body, model_id: otherId });
  assert.equal(answer.statusCode, 404, "a job of another entity");
});
