// Tests chat completions over HTTP with the requests of vLLM's own tests, on the built-in model. Uses the official SDK,
// and plain HTTP for fields that the SDK hides. Sampling, prompts and tools have separate tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { type APIError, BadRequestError, NotFoundError, UnprocessableEntityError } from "openai";
import { serverOfFile } from "./running-server.ts";

let openai: OpenAI;
const server = serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  },
});

type Asked = Readonly<Record<string, unknown>>;

/** Fields that the SDK's types do not declare. */
interface Further {
  readonly stop_reason?: number | null;
  readonly matched_stop?: string | null;
  readonly token_ids?: readonly number[] | null;
}
type Choice = OpenAI.ChatCompletion.Choice & Further;
type Answer = Omit<OpenAI.ChatCompletion, "choices"> & {
  readonly prompt_token_ids?: readonly number[] | null;
  readonly choices: readonly Choice[];
};
type Chunk = Omit<OpenAI.ChatCompletionChunk, "choices"> & {
  readonly prompt_token_ids?: readonly number[] | null;
  readonly choices: readonly (OpenAI.ChatCompletionChunk.Choice & Further)[];
};

const plain = {
  model: "hone-tiny",
  messages: [{ role: "user" as const, content: "tell me a story" }],
  temperature: 0,
  max_completion_tokens: 16,
};

async function ask(body: Asked = {}): Promise<Answer> {
  return openai.chat.completions.create({ ...plain, ...body, stream: false });
}

async function only(body: Asked = {}): Promise<Choice> {
  return (await ask(body)).choices[0];
}

async function chunksOf(body: Asked = {}): Promise<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  const stream = await openai.chat.completions.create({ ...plain, ...body, stream: true });
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

interface Streamed {
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly OpenAI.ChatCompletionTokenLogprob[];
  readonly finishes: readonly (string | null | undefined)[];
}

function choiceOf(chunks: readonly Chunk[], index: number): Streamed {
  const own = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
  return {
    text: own.map(({ delta }) => delta.content ?? "").join(""),
    tokenIds: own.flatMap((choice) => choice.token_ids ?? []),
    logprobs: own.flatMap(({ logprobs }) => logprobs?.content ?? []),
    finishes: own.flatMap((choice) =>
      choice.finish_reason === null ? [] : [choice.finish_reason, choice.matched_stop],
    ),
  };
}

test("`messages` to a `model` work for a first and a second turn; `max_completion_tokens`, or the older `max_tokens`, limits the answer", async () => {
  const answer = await ask({ max_completion_tokens: 5 });
  const [choice] = answer.choices;
  assert.match(answer.id, /^chatcmpl-./);
  assert.deepEqual(
    [answer.object, answer.model, answer.service_tier],
    ["chat.completion", "hone-tiny", "default"],
  );
  assert.deepEqual([answer.choices.length, choice.index, choice.finish_reason], [1, 0, "length"]);
  assert.deepEqual([choice.stop_reason, choice.matched_stop, choice.logprobs], [null, null, null]);
  const { usage } = answer;
  assert.equal(usage?.completion_tokens, 5);
  assert.equal(usage?.total_tokens, 5 + (usage?.prompt_tokens ?? 0));
  assert.ok((usage?.prompt_tokens ?? 0) > 5);
  assert.equal(choice.message.role, "assistant");
  assert.deepEqual((await only({ max_completion_tokens: null, max_tokens: 5 })).message, choice.message);
  const said = choice.message.content ?? "";
  const messages = [...plain.messages, { role: "assistant" as const, content: said }, ...plain.messages];
  const second = await ask({ messages });
  assert.ok((second.usage?.prompt_tokens ?? 0) > (usage?.prompt_tokens ?? 0));
  assert.ok((second.choices[0].message.content ?? "").length > 0);
});

test("`logprobs` are returned if requested, with the requested number of `top_logprobs`", async () => {
  assert.equal((await only({ logprobs: false })).logprobs, null);
  for (const count of [0, 5, 20]) {
    const { logprobs, message } = await only({ logprobs: true, top_logprobs: count });
    const content = logprobs?.content ?? [];
    assert.ok(content.length > 0);
    for (const { token, logprob, top_logprobs: top } of content) {
      assert.equal(top.length, count);
      if (count > 0)
        assert.deepEqual([top[0].token, top[0].logprob], [token, logprob], "greedy takes the best");
    }
    assert.equal(Buffer.from(content.flatMap(({ bytes }) => bytes ?? [])).toString(), message.content);
  }
});

test("refuses too many `top_logprobs`, also with `stream`, and continues to serve", async () => {
  const asked = { logprobs: true, top_logprobs: 21 };
  await assert.rejects(chunksOf(asked), UnprocessableEntityError);
  await assert.rejects(ask(asked), UnprocessableEntityError);
  assert.ok(((await only()).message.content ?? "").length > 0);
});

test("a `stream` contains the same as the whole answer, with one finish reason in its last chunk", async () => {
  const whole = await only({ logprobs: true, top_logprobs: 2, return_token_ids: true });
  const chunks = await chunksOf({ logprobs: true, top_logprobs: 2, return_token_ids: true });
  const streamed = choiceOf(chunks, 0);
  assert.deepEqual(streamed, {
    text: whole.message.content,
    tokenIds: whole.token_ids,
    logprobs: whole.logprobs?.content,
    finishes: [whole.finish_reason, null],
  });
  assert.notEqual(chunks.at(-1)?.choices[0]?.finish_reason, null);
  assert.deepEqual(chunks[0].choices[0].delta.role, "assistant");
  assert.ok(chunks.slice(1).every(({ choices }) => choices[0].delta.role === undefined));
  for (const chunk of chunks.slice(1)) {
    const [{ token_ids: ids, logprobs }] = chunk.choices;
    assert.equal(
      ids?.length,
      logprobs?.content?.length,
      "each chunk has the log-probabilities of its tokens",
    );
  }
  assert.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1);
});

test("`stream_options`: `stream_options.include_usage` adds usage at the end, `stream_options.continuous_usage_stats` to every chunk", async () => {
  for (const options of [{ include_usage: false }, {}, null]) {
    const chunks = await chunksOf({ stream_options: options });
    assert.ok(chunks.every((chunk) => !Object.hasOwn(chunk, "usage")));
  }
  const asked = { stream_options: { include_usage: true, continuous_usage_stats: false } };
  const chunks = await chunksOf(asked);
  const last = chunks.at(-1);
  assert.deepEqual(last?.choices, []);
  assert.deepEqual(last?.usage, (await ask()).usage);
  assert.ok(chunks.slice(0, -1).every((chunk) => !Object.hasOwn(chunk, "usage")));
  const counts = (
    await chunksOf({ stream_options: { include_usage: true, continuous_usage_stats: true } })
  ).map(({ usage }) => [
    usage?.completion_tokens ?? NaN,
    (usage?.total_tokens ?? NaN) - (usage?.prompt_tokens ?? NaN),
  ]);
  assert.deepEqual(counts[0], [0, 0]);
  assert.deepEqual(counts.at(-1), [16, 16]);
  for (const [index, [count, difference]] of counts.entries()) {
    assert.equal(count, difference);
    assert.ok(index === 0 || count >= counts[index - 1][0], "counts grow");
  }
  await assert.rejects(ask({ stream_options: { include_usage: true } }), UnprocessableEntityError);
});

test("`n` answers are separate choices, streamed concurrently; the same `seed` draws the same answers", async () => {
  const drawn = { n: 3, temperature: 1, seed: 5, return_token_ids: true };
  const { choices, usage } = await ask(drawn);
  assert.deepEqual(
    choices.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.equal(new Set(choices.map(({ message }) => message.content)).size, 3);
  assert.equal(
    usage?.completion_tokens,
    choices.reduce((count, { token_ids: ids }) => count + (ids?.length ?? NaN), 0),
  );
  const chunks = await chunksOf(drawn);
  assert.deepEqual(
    chunks.slice(0, 3).map(({ choices: [{ index, delta }] }) => [index, delta.role]),
    [0, 1, 2].map((index) => [index, "assistant"]),
  );
  for (const choice of choices) {
    const { text, tokenIds } = choiceOf(chunks, choice.index);
    assert.deepEqual([text, tokenIds], [choice.message.content, choice.token_ids]);
  }
  const order = chunks.slice(3).map(({ choices: [choice] }) => choice?.index);
  assert.ok(order.indexOf(2) < order.lastIndexOf(0), "they come together");
});

test("`stop` strings cut the text but not the tokens; `include_stop_str_in_output` keeps them in the text", async () => {
  const whole = await only({ return_token_ids: true });
  const text = whole.message.content ?? "";
  const [late, early] = [text.slice(7, 10), text.slice(4, 7)];
  const asked = { stop: [late, early], return_token_ids: true, logprobs: true };
  const stopped = await only(asked);
  const end = text.indexOf(early);
  assert.deepEqual(
    [stopped.message.content, stopped.finish_reason, stopped.stop_reason, stopped.matched_stop],
    [text.slice(0, end), "stop", null, early],
    "the one that is completed first wins",
  );
  const ids = stopped.token_ids ?? [];
  assert.deepEqual(ids, whole.token_ids?.slice(0, ids.length));
  const bytes = stopped.logprobs?.content?.flatMap((entry) => entry.bytes ?? []) ?? [];
  assert.ok(Buffer.from(bytes).toString().includes(early), "tokens of the stop string are there");
  const shown = await only({ ...asked, include_stop_str_in_output: true });
  assert.equal(shown.message.content, text.slice(0, end + early.length));
  for (const choice of [stopped, shown]) {
    const includes = { include_stop_str_in_output: choice === shown };
    const streamed = choiceOf(await chunksOf({ ...asked, ...includes }), 0);
    assert.deepEqual(
      [streamed.text, streamed.tokenIds, streamed.finishes],
      [choice.message.content, choice.token_ids, ["stop", early]],
    );
  }
  await assert.rejects(ask({ stop: "" }), UnprocessableEntityError);
});

test("`echo` with `continue_final_message` puts the continued message before its continuation", async () => {
  const saying = "Once upon a time there was";
  const messages = [...plain.messages, { role: "assistant" as const, content: saying }];
  const goesOn = { messages, continue_final_message: true, add_generation_prompt: false };
  const [alone, echoed] = [await ask(goesOn), await ask({ ...goesOn, echo: true })];
  const more = alone.choices[0].message.content ?? "";
  assert.ok(!more.includes(saying));
  assert.deepEqual(echoed.choices[0].message, { ...alone.choices[0].message, content: saying + more });
  assert.deepEqual(echoed.usage?.completion_tokens, alone.usage?.completion_tokens);
  const chunks = await chunksOf({ ...goesOn, echo: true, n: 2 });
  assert.deepEqual(
    chunks.slice(2, 4).map(({ choices: [choice] }) => [choice.index, choice.delta.content]),
    [0, 1].map((index) => [index, saying]),
  );
  assert.equal(choiceOf(chunks, 1).text, saying + more);
  assert.equal(
    (await only({ echo: true })).message.content,
    (await only()).message.content,
    "of another role",
  );
});

test("`skip_special_tokens` false shows special tokens, with any `spaces_between_special_tokens`", async () => {
  const asked = { allowed_token_ids: [1], max_completion_tokens: 3, logprobs: true };
  const hidden = await only(asked);
  assert.equal(hidden.message.content, "");
  const [{ token, bytes }] = hidden.logprobs?.content ?? [];
  assert.deepEqual([token.startsWith("<|"), bytes], [true, []]);
  for (const spaces of [true, false]) {
    const changes = { skip_special_tokens: false, spaces_between_special_tokens: spaces };
    assert.equal((await only({ ...asked, ...changes })).message.content, token.repeat(3));
  }
  const ended = { structured_outputs: { choice: ["a"] }, skip_special_tokens: false };
  assert.equal((await only(ended)).message.content, "a", "what ends an answer is hidden as ever");
  const shown = (await only({ ...ended, include_stop_str_in_output: true })).message.content;
  assert.match(shown ?? "", /^a<\|.+\|>$/);
});

test("`return_token_ids` and `return_tokens_as_token_ids` return the same tokens, also for the prompt, and characters are never split", async () => {
  const text = "é東👍";
  const asked = {
    messages: [{ role: "user" as const, content: `say ${text}` }],
    structured_outputs: { choice: [text] },
    logprobs: true,
    top_logprobs: 1,
  };
  const { logprobs, token_ids: none, message } = await only(asked);
  assert.deepEqual([message.content, none], [text, null]);
  const entries = logprobs?.content ?? [];
  assert.equal(Buffer.from(entries.flatMap(({ bytes }) => bytes ?? [])).toString(), text);
  assert.ok(
    entries.some(({ token, bytes }) => token === "" && bytes?.length === 0),
    "part of a character",
  );
  const named = { ...asked, return_token_ids: true, return_tokens_as_token_ids: true };
  const answer = await ask(named);
  const chunks = await chunksOf(named);
  const prompts = chunks.map(({ prompt_token_ids: ids }) => ids);
  assert.deepEqual(prompts, [answer.prompt_token_ids, ...prompts.slice(1).map(() => undefined)]);
  assert.ok((answer.prompt_token_ids?.length ?? 0) > 3);
  const [choice] = answer.choices;
  const streamed = choiceOf(chunks, 0);
  const asIds = (choice.token_ids ?? []).map((id) => `token_id:${id}`);
  for (const content of [choice.logprobs?.content ?? [], streamed.logprobs]) {
    assert.deepEqual(
      content.map(({ token }) => token),
      asIds,
    );
    for (const {
      top_logprobs: [top],
    } of content)
      assert.match(top.token, /^token_id:\d+$/);
    assert.deepEqual(
      content.map(({ bytes }) => bytes),
      entries.map(({ bytes }) => bytes),
      "bytes stay those of the text",
    );
  }
  assert.deepEqual([streamed.text, streamed.tokenIds], [text, choice.token_ids]);
  for (const {
    choices: [{ delta }],
  } of chunks)
    assert.ok(!(delta.content ?? "").includes("\ufffd"));
});

test("`request_id` becomes the answer's id, and `user` has no effect", async () => {
  const answer = await ask({ request_id: "mine", user: "me" });
  assert.equal(answer.id, "chatcmpl-mine");
  assert.equal(answer.choices[0].message.content, (await only()).message.content);
  const [chunk] = await chunksOf({ request_id: "mine" });
  assert.deepEqual([chunk.id, Reflect.get(chunk, "request_id")], ["chatcmpl-mine", "mine"]);
});

test("stream events are lines of data, the last of which is [DONE]", async () => {
  const response = await fetch(`${server().url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...plain, stream: true }),
  });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = (await response.text()).split("\n\n");
  assert.deepEqual(events.slice(-2), ["data: [DONE]", ""]);
  const chunks = events.slice(0, -2).map((event) => JSON.parse(event.slice("data: ".length)) as object);
  const [role, delta, finish] = [chunks[0], chunks[1], chunks.at(-1) ?? {}];
  const head = [
    "id",
    "request_id",
    "object",
    "created",
    "model",
    "service_tier",
    "system_fingerprint",
    "choices",
  ];
  assert.deepEqual(Object.keys(role), [...head, "prompt_token_ids"]);
  assert.deepEqual([Object.keys(delta), Object.keys(finish)], [head, head]);
  const keysOf = (chunk: object): readonly string[] =>
    (Reflect.get(chunk, "choices") as readonly object[]).flatMap((choice) => Object.keys(choice));
  assert.deepEqual(keysOf(role), ["index", "delta", "logprobs", "finish_reason"]);
  assert.deepEqual(keysOf(delta), ["index", "delta", "logprobs", "finish_reason", "token_ids"]);
  const ends = ["finish_reason", "stop_reason", "matched_stop"];
  assert.deepEqual(keysOf(finish), ["index", "delta", "logprobs", ...ends, "token_ids"]);
});

test("errors map to the SDK's own error classes, with and without streaming", async () => {
  const long = { messages: [{ role: "user" as const, content: "far too long ".repeat(2000) }] };
  const table: readonly (readonly [Asked, new (...from: never[]) => APIError, RegExp])[] = [
    [{ messages: [] }, UnprocessableEntityError, /messages/],
    [{ temperature: -1 }, UnprocessableEntityError, /temperature/],
    [{ top_p: 2 }, UnprocessableEntityError, /top_p/],
    [{ n: 0 }, UnprocessableEntityError, /n: /],
    [{ max_completion_tokens: 0 }, UnprocessableEntityError, /max_completion_tokens/],
    [{ seed: 1e30 }, UnprocessableEntityError, /seed/],
    [{ logit_bias: { x: 1 } }, UnprocessableEntityError, /logit_bias/],
    [{ stop: ["a", ""] }, UnprocessableEntityError, /empty string/],
    [{ echo: null }, UnprocessableEntityError, /echo/],
    [{ skip_special_tokens: "no" }, UnprocessableEntityError, /skip_special_tokens/],
    [{ allowed_token_ids: [100_000] }, BadRequestError, /allowed_token_ids/],
    [{ structured_outputs: { regex: "(" } }, BadRequestError, /unclosed group/],
    [{ priority: 1 }, BadRequestError, /[Pp]riority/],
    [long, BadRequestError, /maximum context length is 1024 tokens/],
    [{ model: "gone" }, NotFoundError, /gone/],
  ];
  for (const [body, kind, message] of table) {
    for (const send of [ask, chunksOf]) {
      await assert.rejects(send(body), (error) => {
        assert.ok(error instanceof kind, `${JSON.stringify(body).slice(0, 100)}: ${String(error)}`);
        assert.match(error.message, message);
        return true;
      });
    }
  }
});
