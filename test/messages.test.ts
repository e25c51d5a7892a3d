// Tests the official Anthropic SDK on a running server, with the built-in model and a model whose template supports
// tools and thinking. Also tests requests in the form of Claude Code's.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic, { BadRequestError, NotFoundError } from "@anthropic-ai/sdk";
import type { MessageParam, Tool } from "@anthropic-ai/sdk/resources/messages";
import {
  claudeCodeHeaders,
  firstTurn,
  quotaRequest,
  secondTurn,
  titleRequest,
  tools as manyTools,
} from "./claude-code-requests.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { call, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let anthropic: Anthropic;
const server = serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    anthropic = new Anthropic({ baseURL: url, apiKey, authToken: null, maxRetries: 0 });
  },
});
const model = "hone-tiny";
/** A model with random weights: its text is meaningless, but constraints on it can be checked. */
const agent = "tiny";

/** Fields that the SDK's types do not declare, because the types cover only newer models. */
const greedy = { temperature: 0 } as object;
const seeded = (seed: number): object => ({ seed });
const user = (content: string): MessageParam => ({ role: "user", content });

test("a message has the same content as a chat completion of the same conversation", async () => {
  const chat = await call(server(), "POST", "/v1/chat/completions", {
    body: {
      model,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "spell cat" },
      ],
      reasoning_effort: "none",
      temperature: 0,
      max_tokens: 16,
    },
  });
  const asked = { model, max_tokens: 16, system: "Be brief.", ...greedy };
  const message = await anthropic.messages.create({ ...asked, messages: [user("spell cat")] });
  const [choice] = chat.body.choices;
  assert.deepEqual(message.content, [{ type: "text", text: choice.message.content, citations: null }]);
  assert.equal(message.stop_reason, choice.finish_reason === "stop" ? "end_turn" : "max_tokens");
  assert.equal(message.usage.output_tokens, chat.body.usage.completion_tokens);
  const asBlocks = await anthropic.messages.create({
    ...asked,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: [{ type: "text", text: "spell cat" }] }],
  });
  assert.deepEqual(asBlocks.content, message.content);
});

test("the SDK accumulates a stream to the same message as without streaming", async () => {
  const asked = { model, max_tokens: 24, messages: [user("tell me a story")], ...greedy };
  const whole = await anthropic.messages.create(asked);
  const stream = anthropic.messages.stream(asked);
  let text = "";
  stream.on("text", (delta) => void (text += delta));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content, whole.content);
  assert.equal(await stream.finalText(), text);
  assert.deepEqual(
    [final.stop_reason, final.usage.output_tokens],
    [whole.stop_reason, whole.usage.output_tokens],
  );
  assert.ok(text.length > 0);
});

test("usage counts the tokens of the prompt, and separately those from the cache", async () => {
  const long = "a cat and a dog and an owl and a fox ".repeat(12);
  const prompt = {
    model: agent,
    system: long,
    messages: [user("Who is there?")],
    tools: manyTools.slice(0, 2),
    thinking: { type: "adaptive" as const },
  };
  const counted = await anthropic.messages.countTokens(prompt);
  const ask = () => anthropic.messages.create({ ...prompt, max_tokens: 2 });
  const { usage: first } = await ask();
  assert.deepEqual(
    [first.input_tokens, first.cache_read_input_tokens, first.cache_creation_input_tokens],
    [counted.input_tokens, 0, 0],
  );
  const { usage: second } = await ask();
  const kept = second.cache_read_input_tokens ?? 0;
  assert.ok(kept > 0, JSON.stringify(second));
  assert.equal(second.input_tokens + kept, counted.input_tokens);
});

test("an answer ends at a stop sequence and names it, or continues a prefilled answer", async () => {
  const asked = { model, max_tokens: 16, messages: [user("spell cat")], ...greedy };
  const whole = await anthropic.messages.create(asked);
  const [block] = whole.content;
  assert.ok(block.type === "text" && block.text.length > 4, JSON.stringify(whole));
  const stop = block.text.slice(2, 4);
  const stopped = await anthropic.messages.create({ ...asked, stop_sequences: [stop] });
  assert.deepEqual([stopped.stop_reason, stopped.stop_sequence], ["stop_sequence", stop]);
  assert.deepEqual(stopped.content, [{ ...block, text: block.text.slice(0, block.text.indexOf(stop)) }]);
  const begun = await anthropic.messages.create({
    ...asked,
    messages: [user("spell cat"), { role: "assistant", content: block.text.slice(0, 4) }],
  });
  assert.ok(begun.content.every(({ type }) => type === "text"));
  assert.ok(begun.usage.input_tokens + (begun.usage.cache_read_input_tokens ?? 0) > whole.usage.input_tokens);
});

const place = {
  type: "object" as const,
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
const weather: Tool = { name: "weather", description: "The weather", input_schema: place };

test("the next request can contain a tool call and its result", async () => {
  const asked = {
    model: agent,
    tools: [weather],
    tool_choice: { type: "any" as const, disable_parallel_tool_use: true },
    max_tokens: 100,
    ...seeded(1),
  };
  const question = user("What is the weather?");
  const first = await anthropic.messages.create({ ...asked, messages: [question] });
  const [block] = first.content;
  assert.ok(block.type === "tool_use", JSON.stringify(first));
  assert.deepEqual([first.stop_reason, block.name, first.content.length], ["tool_use", "weather", 1]);
  const { city } = block.input as { readonly city: string };
  assert.ok(["Paris", "Rome"].includes(city));
  const stream = anthropic.messages.stream({ ...asked, messages: [question] });
  const [streamed] = (await stream.finalMessage()).content;
  assert.ok(streamed.type === "tool_use");
  assert.deepEqual(streamed.input, block.input);
  const named = await anthropic.messages.create({
    ...asked,
    messages: [question],
    tools: [weather, { ...weather, name: "other" }],
    tool_choice: { type: "tool", name: "other" },
  });
  assert.deepEqual(
    named.content.map((one) => one.type === "tool_use" && one.name),
    ["other"],
  );
  assert.equal(named.stop_reason, "tool_use");
  const second = await anthropic.messages.create({
    ...asked,
    tool_choice: { type: "none" },
    max_tokens: 8,
    messages: [
      question,
      { role: "assistant", content: first.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content: "sunny" }] },
    ],
  });
  assert.ok(second.content.every(({ type }) => type === "text"));
  const promptOf = ({ usage }: Anthropic.Message): number =>
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0);
  assert.ok(promptOf(second) > promptOf(first));
});

/** The token that ends a thought. A model with random weights hardly ever samples it, so tests force it. */
const endOfThought = 4;

test("the model's thinking is a block with a signature and within its budget, and absent unless requested", async () => {
  const asked = {
    model: agent,
    max_tokens: 60,
    messages: [user("Hm?")],
    output_config: { format: { type: "json_schema" as const, schema: { enum: ["Yes.", "No."] } } },
    ...seeded(5),
    logit_bias: { [endOfThought]: -100 },
  };
  const budget = { type: "enabled" as const, budget_tokens: 7 };
  const thoughtful = await anthropic.messages.create({ ...asked, thinking: budget });
  const [thought, said] = thoughtful.content;
  assert.ok(thought.type === "thinking" && said.type === "text", JSON.stringify(thoughtful));
  assert.ok(thought.thinking.length > 0 && thought.signature.length > 0);
  assert.ok(["Yes.", "No."].includes(JSON.parse(said.text) as string));
  const { output_tokens: all, output_tokens_details: details } = thoughtful.usage;
  assert.ok(details !== null && details.thinking_tokens > 0 && details.thinking_tokens <= all);
  const chat = await call(server(), "POST", "/v1/chat/completions", {
    body: {
      model: agent,
      messages: [user("Hm?")],
      max_tokens: 60,
      seed: 5,
      logit_bias: asked.logit_bias,
      chat_template_kwargs: { enable_thinking: true },
      thinking_token_budget: budget.budget_tokens,
      structured_outputs: { json: asked.output_config.format.schema },
    },
  });
  const { reasoning, content: text } = chat.body.choices[0].message;
  assert.deepEqual([thought.thinking, said.text], [reasoning, text]);
  const hidden = await anthropic.messages.create({ ...asked, thinking: { ...budget, display: "omitted" } });
  assert.deepEqual(hidden.content, [said]);
  for (const thinking of [{ thinking: { type: "disabled" as const } }, {}]) {
    const { content } = await anthropic.messages.create({ ...asked, ...thinking });
    assert.deepEqual(
      content.map(({ type }) => type),
      ["text"],
    );
  }
  // The next turn contains the thinking block of the first answer, which becomes part of the prompt.
  const next = { model: agent, max_tokens: 4 };
  const again = user("And now?");
  const messages: MessageParam[] = [user("Hm?"), { role: "assistant", content: thoughtful.content }, again];
  const { content } = await anthropic.messages.create({ ...next, messages });
  assert.ok(content.length <= 1);
  // A model without thinking markers does not think.
  const plain = await anthropic.messages.create({ ...next, model, thinking: budget, messages: [user("Hi")] });
  assert.ok(plain.content.every(({ type }) => type === "text"));
});

test("errors become the SDK's own error classes and name the field", async () => {
  const asked = { model, max_tokens: 4 };
  const image = {
    type: "image" as const,
    source: { type: "base64" as const, media_type: "image/png" as const, data: "" },
  };
  await assert.rejects(
    anthropic.messages.create({ ...asked, messages: [{ role: "user", content: [image] }] }),
    (error) =>
      error instanceof BadRequestError &&
      error.type === "invalid_request_error" &&
      /Blocks of type "image" are not supported/.test(error.apiMessage ?? ""),
  );
  await assert.rejects(
    anthropic.messages.create({ ...asked, max_tokens: 0, messages: [user("Hi")] }),
    (error) => error instanceof BadRequestError && /"max_tokens"/.test(error.message),
  );
  await assert.rejects(
    anthropic.messages.create({ ...asked, messages: [user("far too long ".repeat(20_000))] }),
    (error) => error instanceof BadRequestError && /context length/.test(error.message),
  );
  await assert.rejects(
    anthropic.messages.create({ ...asked, model: "claude-nothing", messages: [user("Hi")] }),
    (error) => error instanceof NotFoundError && error.type === "not_found_error",
  );
  const odd = {
    ...weather,
    strict: true,
    input_schema: { type: "object" as const, properties: { a: { $ref: "#/x" } } },
  };
  await assert.rejects(
    anthropic.messages.create({ ...asked, model: agent, messages: [user("Hi")], tools: [odd] }),
    (error) => error instanceof BadRequestError && /tools\.0\.input_schema/.test(error.message),
  );
});

/** Sends a request in the form of Claude Code's, with the key in one of the two possible headers. */
async function asClaudeCode(body: object, apiKeyHeader: "authorization" | "x-api-key" = "authorization") {
  const { url, apiKey } = server();
  const key = apiKeyHeader === "authorization" ? `Bearer ${apiKey}` : apiKey;
  const answer = await fetch(`${url}/v1/messages?beta=true`, {
    method: "POST",
    headers: { ...claudeCodeHeaders, "content-type": "application/json", [apiKeyHeader]: key },
    body: JSON.stringify({ model: agent, ...body }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return { text, notice: answer.headers.get("x-hone-notice"), ignored: answer.headers.get("x-hone-ignored") };
}

/** Returns the events of a stream, and checks that the stream ends correctly. */
function eventsOf(text: string) {
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)));
  assert.equal(events[0].type, "message_start");
  assert.equal(events.at(-1).type, "message_stop");
  return events;
}

const promptTokens = (events: readonly { readonly message?: { readonly usage: Anthropic.Usage } }[]) => {
  const usage = events[0]?.message?.usage;
  assert.ok(usage !== undefined);
  return {
    all: usage.input_tokens + (usage.cache_read_input_tokens ?? 0),
    kept: usage.cache_read_input_tokens ?? 0,
  };
};

test("requests of Claude Code are answered, and all their fields are supported except edits of the context", async () => {
  // A much lower limit than Claude Code's 32,000 tokens.
  const short = { max_tokens: 12 };
  const first = await asClaudeCode({ ...firstTurn("0d9"), ...short });
  assert.deepEqual(
    [first.notice, first.ignored],
    ["context_management is not applied: the conversation is used as it was sent", null],
  );
  const { all } = promptTokens(eventsOf(first.text));
  // The billing header differs in each request, but the prompts still share a prefix.
  const again = promptTokens(eventsOf((await asClaudeCode({ ...firstTurn("fa6"), ...short })).text));
  assert.equal(again.all, all);
  assert.ok(again.kept > all / 2, `${again.kept} of ${all}`);
  const next = promptTokens(
    eventsOf((await asClaudeCode({ ...secondTurn("b21"), ...short }, "x-api-key")).text),
  );
  assert.ok(next.all > all && next.kept > all / 2, JSON.stringify(next));
  const title = eventsOf((await asClaudeCode({ ...titleRequest, ...short })).text);
  assert.ok(title.every(({ content_block: block }) => block === undefined || block.type === "text"));
  const quota = JSON.parse((await asClaudeCode(quotaRequest, "x-api-key")).text) as Anthropic.Message;
  assert.deepEqual([quota.stop_reason, quota.usage.output_tokens], ["max_tokens", 1]);
});

test("each of Claude Code's tools can be called with arguments that conform to its schema", async () => {
  const { system, messages } = firstTurn("0d9");
  for (const { name } of searchedOf(manyTools, 5)) {
    const { content } = await anthropic.messages.create({
      model: agent,
      max_tokens: 60,
      system,
      messages,
      tools: manyTools,
      tool_choice: { type: "tool", name, disable_parallel_tool_use: true },
      ...seeded(2),
    } as Anthropic.MessageCreateParamsNonStreaming);
    assert.deepEqual(
      content.map((block) => block.type === "tool_use" && block.name),
      [name],
    );
  }
});
