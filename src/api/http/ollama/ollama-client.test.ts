// The official `ollama` client against a listening server. Tests complete answers, tools, embeddings, model lists and
// errors, and that the pieces of a stream add up to the complete answer.
import assert from "node:assert/strict";
import { Ollama, type ChatResponse, type ToolCall } from "ollama";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { keys, registeredModel } from "../testing/fake-server.ts";
import { scriptedServer } from "../testing/scripted-server.ts";

const { server, test } = await scriptedServer();
const client = clientWith(keys.member);

function clientWith(key: string): Ollama {
  return new Ollama({ host: server.app.listeningOrigin, headers: { authorization: `Bearer ${key}` } });
}

const hello = { model: "tiny", messages: [{ role: "user", content: "Hi" }] };

test("answers a chat whole, with counts and durations", async () => {
  const answer = await client.chat(hello);
  assert.deepEqual(answer.message, { role: "assistant", content: "Hello" });
  assert.deepEqual([answer.done, answer.done_reason], [true, "stop"]);
  assert.deepEqual([answer.prompt_eval_count, answer.eval_count], [3, 2]);
  // The fake chat service reports these two durations; the others are measured.
  assert.deepEqual([answer.load_duration, answer.prompt_eval_duration], [2e6, 3e6]);
  assert.ok(answer.total_duration >= answer.eval_duration && answer.eval_duration > 0);
});

test("streams thoughts, text and whole tool calls", async () => {
  server.chat.script.pieces = [
    { reasoning: "Hmm." },
    { text: "Let me see." },
    { toolCalls: [{ index: 0, id: "c1", name: "f", argumentsText: '{"a"' }] },
    { toolCalls: [{ index: 0, argumentsText: ":[1,2]}" }] },
    { toolCalls: [{ index: 1, id: "c2", name: "g", argumentsText: "" }] },
  ];
  const parts: ChatResponse[] = [];
  for await (const part of await client.chat({ ...hello, stream: true })) parts.push(part);
  const calls = [
    { id: "c1", function: { index: 0, name: "f", arguments: { a: [1, 2] } } },
    { id: "c2", function: { index: 1, name: "g", arguments: {} } },
  ];
  const message = { role: "assistant", content: "" };
  assert.deepEqual(
    parts.map((part) => part.message),
    [
      { ...message, thinking: "Hmm." },
      { ...message, content: "Let me see." },
      { ...message, tool_calls: calls },
      message,
    ],
  );
  assert.deepEqual([parts.map(({ done }) => done).indexOf(true), parts.at(-1)?.eval_count], [3, 5]);
  const whole = await client.chat(hello);
  assert.deepEqual(whole.message, {
    ...message,
    content: "Let me see.",
    thinking: "Hmm.",
    tool_calls: calls,
  });
});

test("reports an answer that ends within a tool call, or at the maximum number of tokens", async () => {
  server.chat.script.finish = "length";
  server.chat.script.pieces = [{ toolCalls: [{ index: 0, id: "c", name: "f", argumentsText: '{"a' }] }];
  const { message, done_reason: reason } = await client.chat(hello);
  const [call] = message.tool_calls as readonly ToolCall[];
  assert.deepEqual([call?.function.arguments, reason], [{ INVALID_JSON: '{"a' }, "length"]);
});

test("completes prompts, with log-probabilities on request", async () => {
  const answer = await client.generate({ model: "tiny", prompt: "Hi", logprobs: true, top_logprobs: 1 });
  assert.equal(answer.response, "Hello");
  assert.deepEqual(
    answer.logprobs?.map(({ token, logprob, top_logprobs: others }) => [token, logprob, others?.[0].token]),
    [
      ["Hel", -0.5, "Hel"],
      ["lo", -0.5, "lo"],
    ],
  );
  const parts = [];
  for await (const { response, done } of await client.generate({ model: "tiny", prompt: "Hi", stream: true }))
    parts.push([response, done]);
  assert.deepEqual(parts, [
    ["Hel", false],
    ["lo", false],
    ["", true],
  ]);
  const loaded = await client.generate({ model: "tiny", prompt: "" });
  assert.deepEqual([loaded.response, loaded.done_reason], ["", "load"]);
});

test("embeds texts", async () => {
  const { embeddings, prompt_eval_count: count } = await client.embed({ model: "tiny", input: ["a", "b"] });
  assert.deepEqual([embeddings.length, embeddings[0]?.length, count], [2, 4, 2]);
  const { embedding } = await client.embeddings({ model: "tiny", prompt: "a" });
  assert.deepEqual(embedding, embeddings[0]);
});

test("lists, describes, confirms and deletes models", async () => {
  await registeredModel(server);
  const { models } = await client.list();
  const names = models.map((model) => model.name);
  const full = names[2]?.replace(/:latest$/, "") ?? "";
  assert.match(full, /^\w+\/\w+\/\w+$/);
  assert.deepEqual(names, ["tiny:latest", "small:latest", `${full}:latest`, `${full}:step0`]);
  const [base] = models;
  assert.deepEqual([base.size, base.details.family, base.details.parameter_size], [1000, "llama", "1.23M"]);
  assert.equal(
    new Set(models.map(({ digest }) => digest)).size,
    models.length - 1,
    "a model and its newest version",
  );
  const shown = await client.show({ model: `${full}:latest` });
  assert.equal(shown.details.parent_model, "tiny");
  assert.equal(Object(shown.model_info)["llama.context_length"], 1024);
  assert.deepEqual(
    (await client.ps()).models.map((model) => model.name),
    ["tiny:latest", "small:latest"],
  );
  assert.deepEqual(await client.pull({ model: "tiny" }), { status: "success" });
  const progress = [];
  for await (const { status } of await client.pull({ model: full, stream: true })) progress.push(status);
  assert.deepEqual(progress, ["pulling manifest", "success"]);
  assert.deepEqual(await client.delete({ model: full }), { status: "success" });
  await assert.rejects(client.show({ model: full }), /does not exist/);
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
});

test("reports errors with Ollama's statuses and a text, also within a stream", async () => {
  const refusal = async (call: Promise<unknown>): Promise<readonly unknown[]> => {
    const error: unknown = await call.then(
      () => assert.fail("the call succeeded"),
      (reason: unknown) => reason,
    );
    return [Object(error).status_code, String(Object(error).message)];
  };
  assert.deepEqual(await refusal(client.chat({ ...hello, options: { top_p: 9 } })), [
    400,
    "options.top_p: Input should be less than or equal to 1, got 9",
  ]);
  const [unknownStatus, unknownText] = await refusal(client.pull({ model: "llama3.2" }));
  assert.equal(unknownStatus, 404);
  assert.match(String(unknownText), /hone models add/);
  assert.equal((await refusal(clientWith("wrong").list()))[0], 401);
  for (const call of [
    () => client.copy({ source: "tiny", destination: "other" }),
    () => client.push({ model: "tiny" }),
    () => client.create({ model: "mine", from: "tiny" }),
    () => client.delete({ model: "tiny" }),
  ])
    assert.equal((await refusal(call()))[0], 400);
  for (const call of [() => client.pull({ model: "" }), () => client.show({ model: "" })])
    assert.deepEqual(await refusal(call()), [400, "The request names no model; send its name."]);
  server.chat.script.failure = new ServiceError({
    code: "unavailable",
    message: "gone",
    obstacle: "failing-audit-log",
  });
  const parts: string[] = [];
  await assert.rejects(async () => {
    for await (const { message } of await client.chat({ ...hello, stream: true }))
      parts.push(message.content);
  }, /gone/);
  assert.deepEqual(parts, ["Hel"]);
});

test("stops the answer when the client disconnects", async () => {
  const aborted = new Promise<void>((resolve) => (server.chat.onAbort = resolve));
  server.chat.script.hangs = true;
  const stream = await client.chat({ ...hello, stream: true });
  await assert.rejects(async () => {
    for await (const { message } of stream) {
      assert.equal(message.content, "Hel");
      stream.abort();
    }
  }, /abort/i);
  await aborted;
  server.chat.script.hangs = false;
});
