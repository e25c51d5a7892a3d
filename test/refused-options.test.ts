// Tests that every known but unsupported option is refused by name, whichever layer does not support it: HTTP, chat or
// the engine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainReplies } from "../src/inference/chat/testing/plain-replies.ts";
import { createChatService } from "../src/inference/chat/complete-chat.ts";
import { noDefaults } from "../src/inference/chat/testing/no-defaults.ts";
import { directPrompts } from "../src/inference/chat/testing/direct-prompts.ts";
import { servedBases } from "../src/inference/chat/testing/served-bases.ts";
import { systemClock } from "../src/base/domain/clock.ts";
import type { Engine } from "../src/base/domain/generation.ts";
import type { ErrorBody } from "../src/api/http/errors.ts";
import { bearer, fakeServer } from "../src/api/http/testing/fake-server.ts";
import { silentLogger } from "../src/base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../src/base/telemetry/metrics.ts";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";

const folder = "test/fixtures/goldens/models/qwen3";

/** An engine that fails if it gets a request, since the request should have been refused before. */
const engine: Engine = {
  capabilities: { features: new Set(), isExact: true },
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  roomFor: () => 64,
  prepareAdapter: () => Promise.resolve(),
  dropAdapter: () => undefined,
  status: () => {
    const state = { kind: "ready", limits: { contextLength: 64, vocabularySize: 512 } } as const;
    return { state, runningCount: 0, waitingCount: 0, waitingCountMax: 1, gauges: () => [] };
  },
  submit: () => assert.fail("a request that asks for what is not served reached the engine"),
};

const chat = createChatService({
  directory: {
    resolve: () =>
      Promise.resolve({
        base: "tiny",
        name: "tiny",
        fullName: "tiny",
        fingerprint: "f",
        adapter: null,
        isTrained: false,
        modelId: null,
        step: null,
        projectId: null,
      }),
    adapterFault: () => assert.fail("nothing of a refused request is loaded"),
  },
  bases: servedBases({
    model: { name: "tiny", folder },
    engine,
    prompts: await directPrompts(folder),
    tokenizer: await loadTokenizer(folder),
    defaults: noDefaults([2]),
    replies: plainReplies,
    contextLength: 64,
  }),
  clock: systemClock,
  metrics: createMetrics({ processMetrics: false }),
  logger: silentLogger,
});

const notServed: Readonly<Record<string, unknown>> = {
  frequency_penalty: 1,
  presence_penalty: 1,
  repetition_penalty: 1.1,
  min_p: 0.1,
  top_n_sigma: 1,
  logit_bias: { 1: 1 },
  allowed_token_ids: [1],
  bad_words: ["x"],
  logits_processors: ["p"],
  min_tokens: 1,
  prompt_logprobs: 0,
  use_beam_search: true,
  priority: 3,
  cache_salt: "s",
  kv_transfer_params: { do_remote_decode: true },
  structured_outputs: { choice: ["a"] },
  response_format: { type: "json_object" },
};

async function refusal(body: object): Promise<ErrorBody> {
  const server = await fakeServer({ chat });
  const messages = [{ role: "user", content: "hi" }];
  const answer = await server.ask({
    method: "POST",
    url: "/v1/chat/completions",
    headers: { authorization: bearer() },
    payload: { messages, ...body },
  });
  await server.close();
  assert.equal(answer.statusCode, 400, answer.body);
  return answer.json<ErrorBody>();
}

for (const [field, value] of Object.entries(notServed)) {
  test(`${field} is refused by name`, async () => {
    const { detail, error } = await refusal({ [field]: value });
    const priority = "Got priority 3 but Priority scheduling is not enabled; send 0 or leave it out.";
    const msg =
      field === "priority"
        ? priority
        : `${field} is not supported by this server; leave it out or at its default.`;
    assert.deepEqual(detail, [{ loc: ["body", field], msg, type: "unsupported" }]);
    assert.deepEqual(error, {
      message: msg,
      type: "invalid_request_error",
      param: field,
      code: "unsupported",
    });
  });
}

test("refuses options that HTTP, chat and the engine lack in one response, each option once", async () => {
  const { detail, error } = await refusal({
    prompt_logprobs: 1,
    min_p: 0.1,
    cache_salt: "s",
    structured_outputs: { regex: "a", _backend: "x" },
  });
  const backend = "structured_outputs._backend";
  const names = [backend, "min_p", "prompt_logprobs", "cache_salt"];
  assert.deepEqual(
    detail.map(({ loc }) => loc),
    names.map((name) => ["body", ...name.split(".")]),
  );
  for (const name of names.filter((one) => one !== backend))
    assert.equal(error.message.split(`${name} is not supported`).length, 2, name);
});

test("media is refused with the location of each part", async () => {
  const content = [
    { type: "text", text: "see" },
    { type: "image_url", image_url: { url: "x" } },
    { type: "new" },
  ];
  const { detail } = await refusal({ messages: [{ role: "user", content }] });
  const msg = (type: string): string =>
    `This model reads text only; a content part of type "${type}" cannot be shown to it.`;
  assert.deepEqual(detail, [
    { loc: ["body", "messages", "0", "content", "1"], msg: msg("image_url"), type: "unsupported" },
    { loc: ["body", "messages", "0", "content", "2"], msg: msg("new"), type: "unsupported" },
  ]);
});

test("malformed arguments of a tool call are refused with their location", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{x" } };
  const { detail } = await refusal({
    messages: [{ role: "assistant", content: null, tool_calls: [call] }],
  });
  assert.deepEqual(detail[0]?.loc, ["body", "messages", "0", "tool_calls", "0", "function", "arguments"]);
});
