// Tests beam search with the built-in model over HTTP, from a client's point of view.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

async function post(body: object): Promise<Response> {
  return fetch(`${server().url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: "What is the capital of France?" }],
      max_tokens: 12,
      return_token_ids: true,
      ...body,
    }),
  });
}

interface Choice {
  readonly index: number;
  readonly message: { readonly content: string };
  readonly logprobs: { readonly content: readonly { readonly logprob: number }[] };
  readonly finish_reason: string;
  readonly token_ids: readonly number[];
}

interface Answer {
  readonly choices: readonly Choice[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

async function answer(body: object): Promise<Answer> {
  const response = await post(body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  // Safe cast: the answer comes from this project's own server.
  return JSON.parse(text) as Answer;
}

test("`use_beam_search` returns the best n answers, ordered by score and weighted by `length_penalty`", async () => {
  for (const penalty of [1, 0, 3]) {
    const { choices, usage } = await answer({
      use_beam_search: true,
      n: 4,
      length_penalty: penalty,
      logprobs: true,
      top_logprobs: 2,
    });
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1, 2, 3],
    );
    assert.equal(new Set(choices.map(({ token_ids: ids }) => ids.join())).size, 4);
    const scores = choices.map((choice) => {
      const sum = choice.logprobs.content.reduce((total, { logprob }) => total + logprob, 0);
      const ended = choice.finish_reason === "stop" ? 1 : 0;
      return sum / (usage.prompt_tokens + choice.token_ids.length - ended) ** penalty;
    });
    assert.deepEqual(
      scores,
      scores.toSorted((one, other) => other - one),
    );
    assert.equal(
      usage.completion_tokens,
      choices.reduce((total, { token_ids: ids }) => total + ids.length, 0),
    );
  }
});

test("one beam equals greedy decoding, and `temperature` and `seed` do not affect a beam search", async () => {
  const greedy = await answer({ temperature: 0 });
  const one = await answer({ use_beam_search: true, temperature: 2, seed: 1 });
  assert.deepEqual(one.choices, greedy.choices);
  const three = await answer({ use_beam_search: true, n: 3, temperature: 0, seed: 2 });
  const same = await answer({ use_beam_search: true, n: 3, temperature: 1.5, seed: 3 });
  assert.deepEqual(same.choices, three.choices);
});

test("a streamed beam search opens all choices, then sends each one whole, with its finish in a separate chunk", async () => {
  const body = { use_beam_search: true, n: 3, logprobs: true };
  const whole = await answer(body);
  const response = await post({ ...body, stream: true, stream_options: { include_usage: true } });
  const events = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: "));
  assert.equal(events.pop(), "data: [DONE]");
  const chunks = events.map(
    (event) =>
      JSON.parse(event.slice("data: ".length)) as {
        readonly choices: readonly (Choice & {
          readonly delta: { readonly role?: string; readonly content: string };
        })[];
        readonly usage?: Answer["usage"];
      },
  );
  assert.equal(chunks.length, 10);
  const [opening, rest] = [chunks.slice(0, 3), chunks.slice(3)];
  assert.deepEqual(
    opening.map(({ choices }) => choices.map(({ index, delta }) => [index, delta.role])),
    [0, 1, 2].map((index) => [[index, "assistant"]]),
  );
  const usage = rest.pop()?.usage;
  assert.deepEqual(usage, whole.usage);
  assert.deepEqual(
    rest.map(({ choices: [choice] }) => [
      choice.index,
      choice.delta.content,
      choice.finish_reason,
      choice.token_ids,
      choice.logprobs,
    ]),
    whole.choices.flatMap((choice) => [
      [choice.index, choice.message.content, null, choice.token_ids, choice.logprobs],
      [choice.index, undefined, choice.finish_reason, null, null],
    ]),
  );
});

test("beams conform to structured outputs, and there are at most as many as possible answers", async () => {
  const schema = {
    type: "object",
    properties: { city: { enum: ["Paris", "Rome", "Oslo"] }, big: { type: "boolean" } },
    required: ["city", "big"],
    additionalProperties: false,
  };
  const { choices } = await answer({
    use_beam_search: true,
    n: 4,
    max_tokens: 60,
    structured_outputs: { json: schema, disable_any_whitespace: true },
  });
  const texts = choices.map(({ message, finish_reason: finish }) => {
    assert.equal(finish, "stop");
    return message.content;
  });
  for (const text of texts) assert.match(text, /^\{"city": ?"(Paris|Rome|Oslo)", ?"big": ?(true|false)\}$/);
  const few = { use_beam_search: true, n: 5, structured_outputs: { choice: ["7", "8"] } };
  const whole = await answer(few);
  assert.deepEqual(whole.choices.map(({ message }) => message.content).toSorted(), ["7", "8"]);
  const stream = await (await post({ ...few, stream: true })).text();
  assert.equal(stream.split('"finish_reason":"stop"').length, 3);
  assert.equal(stream.split('"role":"assistant"').length, 3);
});

test("options that beam search does not support are refused before it begins, naming the field", async () => {
  const refusal = async (body: object) => {
    const response = await post({ use_beam_search: true, ...body });
    const { detail } = (await response.json()) as {
      readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[];
    };
    return [response.status, ...detail.map(({ loc }) => loc.slice(1).join("."))];
  };
  assert.deepEqual(await refusal({ stop: ["a"], top_p: 0.5 }), [422, "stop", "top_p"]);
  assert.deepEqual(await refusal({ use_beam_search: false, length_penalty: 2 }), [422, "length_penalty"]);
});
