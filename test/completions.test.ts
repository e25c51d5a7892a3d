// Tests text completions of a running server with the official OpenAI SDK. A chat with the same prompt must give the
// same answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { BadRequestError } from "openai";
import { serverOfFile } from "./running-server.ts";

let openai: OpenAI;
const server = serverOfFile({
  onStart: ({ url, apiKey }) => {
    openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 5 });
  },
});
const model = "hone-tiny";

/** Hone's own fields, which the SDK does not declare. */
interface Tokens {
  readonly token_ids: readonly number[];
  readonly prompt_token_ids: readonly number[];
}

test("completing the tokens of a chat's prompt gives the chat's answer, with any sampling options", async () => {
  for (const [index, content] of [
    "spell cat",
    "tell me a story",
    "What is the capital of France?",
  ].entries()) {
    const options = {
      model,
      temperature: index / 2,
      seed: 7 + index,
      max_tokens: 24,
      n: 2,
      return_token_ids: true,
    };
    const chat = await openai.chat.completions.create({ ...options, messages: [{ role: "user", content }] });
    const { prompt_token_ids: prompt } = chat as unknown as Tokens;
    const completion = await openai.completions.create({ ...options, prompt: [...prompt] });
    assert.deepEqual(
      completion.choices.map((choice) => [choice.text, (choice as unknown as Tokens).token_ids]),
      chat.choices.map((choice) => [choice.message.content, (choice as unknown as Tokens).token_ids]),
    );
    assert.deepEqual(completion.usage?.completion_tokens, chat.usage?.completion_tokens);
  }
});

test("answers several prompts the same as one by one, at the indices that OpenAI defines", async () => {
  const options = { model, temperature: 1, seed: 3, max_tokens: 8, n: 2 };
  const prompts = ["Once upon", "The", "1 2 3"];
  const together = await openai.completions.create({ ...options, prompt: prompts });
  assert.deepEqual(
    together.choices.map(({ index }) => index),
    [0, 1, 2, 3, 4, 5],
  );
  const alone = await Promise.all(prompts.map((prompt) => openai.completions.create({ ...options, prompt })));
  assert.deepEqual(
    together.choices.map(({ text }) => text),
    alone.flatMap(({ choices }) => choices.map(({ text }) => text)),
  );
  assert.equal(
    together.usage?.total_tokens,
    alone.reduce((total, { usage }) => total + (usage?.total_tokens ?? 0), 0),
  );
});

test("a stream contains the same as the whole answer for each choice, and its usage", async () => {
  const body = {
    model,
    prompt: ["Once upon", "The"],
    temperature: 1,
    seed: 5,
    max_tokens: 12,
    n: 2,
    logprobs: 1,
  };
  const whole = await openai.completions.create(body);
  const stream = await openai.completions.create({
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  const texts = ["", "", "", ""];
  const offsets: number[][] = [[], [], [], []];
  const reasons: (string | null)[] = [];
  let usage: unknown = null;
  for await (const chunk of stream) {
    for (const { index, text, logprobs, finish_reason: reason } of chunk.choices) {
      texts[index] += text;
      offsets[index]?.push(...(logprobs?.text_offset ?? []));
      // The SDK's type wrongly declares that the reason is never null.
      if ((reason as string | null) !== null) reasons[index] = reason;
    }
    usage = chunk.usage ?? usage;
  }
  assert.deepEqual(
    texts,
    whole.choices.map(({ text }) => text),
  );
  assert.deepEqual(
    offsets,
    whole.choices.map(({ logprobs }) => logprobs?.text_offset),
  );
  assert.deepEqual(
    reasons,
    whole.choices.map(({ finish_reason: reason }) => reason),
  );
  assert.deepEqual(
    { ...(usage as object), prompt_tokens_details: null },
    {
      ...whole.usage,
      prompt_tokens_details: null,
    },
  );
});

test("log-probabilities give each token's offset in the text, and equal those of the chat", async () => {
  const options = { model, temperature: 0, max_tokens: 6, return_token_ids: true };
  const messages = [{ role: "user" as const, content: "spell dog" }];
  const chat = await openai.chat.completions.create({
    ...options,
    messages,
    logprobs: true,
    top_logprobs: 2,
  });
  const prompt = [...(chat as unknown as Tokens).prompt_token_ids];
  const { choices } = await openai.completions.create({ ...options, prompt, logprobs: 2 });
  const [{ text, logprobs }] = choices as [OpenAI.CompletionChoice];
  const expected = chat.choices[0]?.logprobs?.content ?? [];
  assert.deepEqual(
    logprobs?.token_logprobs,
    expected.map(({ logprob }) => logprob),
  );
  const characters = Array.from(text);
  logprobs?.tokens?.forEach((token, index) => {
    const at = logprobs.text_offset?.[index] ?? -1;
    if (at < characters.length)
      assert.equal(characters.slice(at, at + Array.from(token).length).join(""), token);
    assert.equal(logprobs.top_logprobs?.[index]?.[token], logprobs.token_logprobs?.[index]);
  });
});

test("one invalid prompt fails the whole request and leaves nothing running", async () => {
  const prompt = ["a ".repeat(20), "b ".repeat(5000)];
  for (const stream of [false, true]) {
    const asked = openai.completions.create({ model, prompt, stream, max_tokens: 900 });
    await assert.rejects(asked, (error) => error instanceof BadRequestError && error.param === "prompt.1");
  }
  const metrics = await (await fetch(`${server().url}/metrics`)).text();
  assert.match(metrics, /^hone_chat_running 0$/m);
});

test("an echoed prompt has the same log-probabilities as when it was an answer, also in streams", async () => {
  const options = { model, temperature: 0, return_token_ids: true };
  const drawn = await openai.completions.create({
    ...options,
    prompt: "Once upon a",
    max_tokens: 6,
    logprobs: 0,
  });
  const [choice] = drawn.choices as [OpenAI.CompletionChoice];
  const { prompt_token_ids: promptIds, token_ids: ids } = choice as unknown as Tokens;
  const body = {
    ...options,
    prompt: [...promptIds, ...ids],
    echo: true,
    logprobs: 2,
    prompt_logprobs: 1,
    max_tokens: 0,
  };
  const scored = await openai.completions.create(body);
  const [{ text, logprobs, ...more }] = scored.choices as [OpenAI.CompletionChoice];
  assert.equal(text, `Once upon a${choice.text}`);
  assert.deepEqual(
    [scored.usage?.completion_tokens, logprobs?.tokens?.length],
    [0, promptIds.length + ids.length],
  );
  assert.deepEqual([logprobs?.token_logprobs?.[0], logprobs?.top_logprobs?.[0]], [null, null]);
  const scores = logprobs?.token_logprobs?.slice(promptIds.length) ?? [];
  choice.logprobs?.token_logprobs?.forEach((logprob, index) => {
    assert.ok(Math.abs(logprob - (scores[index] ?? 0)) < 1e-4, `${logprob} ${scores[index]}`);
  });
  const { prompt_logprobs: judged } = more as unknown as {
    readonly prompt_logprobs: readonly (Readonly<Record<string, { readonly logprob: number }>> | null)[];
  };
  const allIds = [...promptIds, ...ids];
  assert.deepEqual(
    logprobs?.token_logprobs,
    judged.map((entry, index) => entry && entry[String(allIds[index])]?.logprob),
  );
  assert.equal(logprobs?.text_offset?.[0], 0);
  const { prompt_logprobs: _, ...streamed } = body;
  const stream = await openai.completions.create({ ...streamed, max_tokens: 2, stream: true });
  const tokens: string[] = [];
  const offsets: number[] = [];
  let whole = "";
  for await (const { choices } of stream) {
    whole += choices[0]?.text ?? "";
    tokens.push(...(choices[0]?.logprobs?.tokens ?? []));
    offsets.push(...(choices[0]?.logprobs?.text_offset ?? []));
  }
  assert.deepEqual(tokens.slice(0, allIds.length), logprobs?.tokens);
  assert.deepEqual(offsets.slice(0, allIds.length), logprobs?.text_offset);
  assert.ok(whole.startsWith(text) && tokens.length > allIds.length);
});
