// Tests each sampling and stopping field over HTTP with the built-in model, and that constraints hold in combination
// with every other field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

interface Choice {
  readonly message: { readonly content: string };
  readonly finish_reason: string;
  readonly stop_reason: number | null;
  readonly token_ids: readonly number[];
  readonly logprobs: { readonly content: readonly { readonly logprob: number }[] } | null;
}

async function post(body: object): Promise<Response> {
  return fetch(`${server().url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: "tell me a story" }],
      max_tokens: 40,
      return_token_ids: true,
      seed: 11,
      ...body,
    }),
  });
}

async function choices(body: object): Promise<readonly Choice[]> {
  const response = await post(body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const answer = JSON.parse(text) as { readonly choices: readonly Choice[] };
  return answer.choices;
}

async function only(body: object): Promise<Choice> {
  return (await choices(body))[0];
}

async function idsOf(body: object): Promise<readonly number[]> {
  return (await only(body)).token_ids;
}

async function refusal(body: object): Promise<readonly [number, string, string]> {
  const response = await post(body);
  const { detail } = (await response.json()) as {
    readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[];
  };
  return [response.status, detail[0].loc.join("."), detail[0].msg];
}

const tokenizer = await loadTokenizer("models/hone-tiny");

/** Returns the id of a text that is a single token of hone-tiny. */
function idOf(text: string): number {
  const ids = tokenizer.encode(text, { addSpecialTokens: false });
  assert.equal(ids.length, 1, text);
  return ids[0];
}

const [yes, no, spacedYes] = ["yes", "no", " yes"].map(idOf);
/** The token that ends a turn. */
const endOfTurn = idOf("<|im_end|>");
/** A token that is hardly ever sampled. */
const rare = tokenizer.vocabularySize - 2;
const greedy = { temperature: 0 };
const endless = { ...greedy, ignore_eos: true, max_tokens: 40 };

test("`temperature` 0 is greedy, and higher values deviate from the greedy answer", async () => {
  const best = await idsOf(greedy);
  for (const seed of [1, 2]) assert.deepEqual(await idsOf({ ...greedy, seed }), best);
  const drawn = await choices({ temperature: 1.5, n: 6 });
  assert.equal(new Set(drawn.map(({ token_ids }) => token_ids.join())).size, 6);
});

test("`min_p` 1, `top_k` 1 and a tiny `top_p` each keep only the most probable token", async () => {
  const best = await idsOf(greedy);
  for (const body of [{ min_p: 1 }, { top_k: 1 }, { top_p: 1e-9 }]) {
    assert.deepEqual(await idsOf({ temperature: 1.5, ...body }), best, JSON.stringify(body));
  }
});

test("`min_p`, `top_k` and `top_p` have no effect at their widest values, and `top_k` -1 turns it off", async () => {
  const drawn = await idsOf({ temperature: 1 });
  for (const body of [{ min_p: 0 }, { top_k: 0 }, { top_k: -1 }, { top_k: 100_000 }, { top_p: 1 }]) {
    assert.deepEqual(await idsOf({ temperature: 1, ...body }), drawn, JSON.stringify(body));
  }
});

test("a smaller `top_n_sigma` keeps fewer tokens, separately for each choice; 0 and -1 turn it off, and beam search refuses it", async () => {
  const best = await idsOf(greedy);
  const hot = { temperature: 3, n: 3, seed: 11 };
  const drawnOf = async (body: object): Promise<readonly (readonly number[])[]> =>
    (await choices({ ...hot, ...body })).map(({ token_ids }) => token_ids);
  // With such a small value, only the token with the greatest logit remains, so the temperature does not matter.
  assert.deepEqual(await drawnOf({ top_n_sigma: 1e-6 }), [best, best, best]);
  const [plain, off, llamaOff] = [
    await drawnOf({}),
    await drawnOf({ top_n_sigma: 0 }),
    await drawnOf({ top_n_sigma: -1 }),
  ];
  assert.deepEqual([off, llamaOff], [plain, plain]);
  const some = await drawnOf({ top_n_sigma: 2 });
  assert.deepEqual(await drawnOf({ top_n_sigma: 2 }), some, "a seed draws the same again");
  assert.notDeepEqual(some, plain);
  assert.equal(new Set(some.map(String)).size, 3, "each choice is drawn by itself");
  assert.deepEqual((await drawnOf({ top_n_sigma: 2, n: 1 }))[0], some[0], "whatever is drawn beside");
  const [status, place] = await refusal({ top_n_sigma: 1, use_beam_search: true });
  assert.deepEqual([status, place], [422, "body.top_n_sigma"]);
});

test("the same `seed` draws the same, another seed draws differently, and -1 or none draws at random", async () => {
  const ask = { temperature: 1.5 };
  assert.deepEqual(await idsOf({ ...ask, seed: 7 }), await idsOf({ ...ask, seed: 7 }));
  assert.notDeepEqual(await idsOf({ ...ask, seed: 7 }), await idsOf({ ...ask, seed: 8 }));
  const fresh = { temperature: 3, ignore_eos: true };
  for (const seed of [-1, null]) {
    assert.notDeepEqual(await idsOf({ ...fresh, seed }), await idsOf({ ...fresh, seed }));
  }
});

test("`frequency_penalty` and `presence_penalty` discourage tokens that the answer already has, and negative values encourage them", async () => {
  // Bans the end-of-turn token: most of the answer would otherwise consist of it.
  const text = { ...endless, logit_bias: { [endOfTurn]: -100 } };
  const kindsWith = async (more: object): Promise<number> => new Set(await idsOf({ ...text, ...more })).size;
  const plain = await kindsWith({});
  for (const name of ["frequency_penalty", "presence_penalty"]) {
    assert.ok((await kindsWith({ [name]: 2 })) > plain);
    assert.ok((await kindsWith({ [name]: -2 })) < plain);
  }
});

test("`repetition_penalty` also discourages tokens of the prompt", async () => {
  const [word] = await idsOf({
    messages: [{ role: "user", content: "spell cat" }],
    ...greedy,
    max_tokens: 1,
  });
  const messages = [{ role: "user", content: "spell cat c a t" }];
  const ids = await idsOf({ messages, ...greedy, repetition_penalty: 50, max_tokens: 8 });
  assert.ok(!ids.includes(word), `${word} is not in ${ids.join()}`);
  const kinds = new Set(await idsOf({ ...endless, repetition_penalty: 1.5 })).size;
  assert.ok(kinds > new Set(await idsOf(endless)).size);
});

test("`logit_bias` forces or bans a token, and is limited to 100", async () => {
  const [first] = await idsOf({ ...greedy, max_tokens: 1 });
  assert.deepEqual(await idsOf({ ...greedy, max_tokens: 3, logit_bias: { [yes]: 100 } }), [yes, yes, yes]);
  const [better] = await idsOf({ ...greedy, max_tokens: 1, logit_bias: { [yes]: 100, [no]: 100 } });
  const beyond = { [better]: 100.5, [better === yes ? no : yes]: 1e9 };
  assert.deepEqual(await idsOf({ ...greedy, max_tokens: 1, logit_bias: beyond }), [better]);
  assert.notEqual((await idsOf({ ...greedy, max_tokens: 1, logit_bias: { [first]: -100 } }))[0], first);
  assert.deepEqual(await idsOf({ ...greedy, logit_bias: {} }), await idsOf(greedy));
});

test("log-probabilities are those before bias and penalties", async () => {
  const asked = { ...greedy, max_tokens: 1, logprobs: true, logit_bias: { [yes]: 100 } };
  const { logprobs } = await only({ ...asked, repetition_penalty: 1.5 });
  assert.ok((logprobs?.content[0].logprob ?? 0) < -3);
});

test("`allowed_token_ids` restricts the answer to these tokens; even the end token must be among them", async () => {
  const ids = await idsOf({ temperature: 2, max_tokens: 20, allowed_token_ids: [no, yes, spacedYes] });
  assert.equal(ids.length, 20);
  for (const id of ids) assert.ok([no, yes, spacedYes].includes(id));
  const ended = await only({ ...greedy, allowed_token_ids: [yes, endOfTurn] });
  assert.equal(ended.finish_reason, "stop");
});

test("`bad_words` do not occur, neither at the beginning nor after a space", async () => {
  const { content } = (await only(greedy)).message;
  const [first, second] = content.split(" ");
  for (const word of [first, `  ${first}`, `${first} ${second}`]) {
    const whole = new RegExp(`\\b${word.trim()}\\b`);
    assert.match(content, whole);
    const { message } = await only({ ...greedy, bad_words: [word] });
    assert.doesNotMatch(message.content, whole);
  }
  // `yes`, ` yes` and `no` are each a single token.
  const logit_bias = { [yes]: 100, [spacedYes]: 100, [no]: 50 };
  const forced = { ...greedy, max_tokens: 4, logit_bias, bad_words: ["yes"] };
  assert.deepEqual(await idsOf(forced), [no, no, no, no]);
  assert.deepEqual(await only({ ...greedy, bad_words: ["zebra crossing"] }), await only(greedy));
});

test("`min_tokens` prevents any end before that length", async () => {
  const plain = await only(greedy);
  const { length } = plain.token_ids;
  const longer = await only({ ...greedy, min_tokens: length + 10, max_tokens: length + 30 });
  assert.ok(longer.token_ids.length > length + 10);
  assert.ok(!longer.token_ids.slice(0, length + 10).includes(endOfTurn));
  assert.deepEqual(longer.token_ids.slice(0, length - 1), plain.token_ids.slice(0, -1));
  assert.deepEqual(await only({ ...greedy, min_tokens: length - 1 }), plain);
  const [first] = plain.token_ids;
  const stop = { ...greedy, max_tokens: 12, stop_token_ids: [first] };
  assert.equal((await only(stop)).token_ids.length, 1);
  assert.ok(!(await idsOf({ ...stop, min_tokens: 3 })).slice(0, 3).includes(first));
});

test("`stop_token_ids` end the answer, with the id as the reason and without the token's text", async () => {
  const plain = await only(greedy);
  assert.deepEqual([plain.finish_reason, plain.stop_reason], ["stop", null]);
  const stopId = plain.token_ids[5];
  const stopped = await only({ ...greedy, stop_token_ids: [stopId, 671] });
  assert.deepEqual([stopped.finish_reason, stopped.stop_reason], ["stop", stopId]);
  assert.deepEqual(stopped.token_ids, plain.token_ids.slice(0, plain.token_ids.indexOf(stopId) + 1));
  assert.ok(plain.message.content.startsWith(stopped.message.content));
  // An answer that ends with the model's own end token has no stop reason, even if the request lists this token. With
  // `ignore_eos`, the token ends the answer only because the request lists it, so it is the stop reason.
  assert.equal((await only({ ...greedy, stop_token_ids: [endOfTurn] })).stop_reason, null);
  const told = await only({ ...greedy, ignore_eos: true, stop_token_ids: [endOfTurn] });
  assert.deepEqual([told.token_ids, told.stop_reason], [plain.token_ids, endOfTurn]);
});

test("`ignore_eos` continues after the model's end token", async () => {
  const ended = await only(greedy);
  const going = await only(endless);
  assert.deepEqual([going.finish_reason, going.stop_reason, going.token_ids.length], ["length", null, 40]);
  assert.deepEqual(going.token_ids.slice(0, ended.token_ids.length), ended.token_ids);
  assert.ok(!going.message.content.includes("<|im_end|>"));
});

const everything = {
  temperature: 0.9,
  top_p: 0.95,
  top_k: 200,
  min_p: 0.001,
  top_n_sigma: 6,
  frequency_penalty: 0.5,
  presence_penalty: 0.5,
  repetition_penalty: 1.2,
  logit_bias: { [yes]: 5, [endOfTurn]: 20 },
  bad_words: ["no", "never"],
  allowed_token_ids: Array.from({ length: 650 }, (_, id) => id + endOfTurn),
  min_tokens: 30,
  stop_token_ids: [rare],
  max_tokens: 120,
};

test("keeps a constraint and ends, in combination with every other field", async () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 12 },
      ages: { type: "array", items: { type: "integer", minimum: 0, maximum: 99 }, maxItems: 3 },
    },
    required: ["name", "ages"],
    additionalProperties: false,
  };
  const asked = { structured_outputs: { json: schema, disable_any_whitespace: true }, n: 4, max_tokens: 120 };
  for (const body of [
    { min_tokens: 100 },
    { ignore_eos: true },
    { ignore_eos: true, stop_token_ids: [rare] },
    { logit_bias: { [endOfTurn]: 100, [yes]: 100 } },
    { logit_bias: { [endOfTurn]: -100 } },
    { frequency_penalty: 2, presence_penalty: 2, repetition_penalty: 2 },
    { frequency_penalty: -1, temperature: 2 },
    { bad_words: ["a", "e", "name is"] },
    // All printable ASCII characters, but no end token.
    { allowed_token_ids: Array.from({ length: 95 }, (_, index) => idOf(String.fromCharCode(0x20 + index))) },
    { min_p: 0.9, top_k: 2, top_p: 0.1 },
    everything,
  ]) {
    for (const { message, finish_reason } of await choices({ ...asked, ...body })) {
      const context = `${JSON.stringify(body).slice(0, 100)}: ${message.content}`;
      assert.equal(finish_reason, "stop", context);
      const value = JSON.parse(message.content) as { readonly name: string; readonly ages: number[] };
      assert.ok(value.name.length <= 24 && value.ages.length <= 3, context);
    }
  }
});

test("an answer that is complete under its constraint ends, however many tokens were requested", async () => {
  const yes = await only({ structured_outputs: { choice: ["yes"] }, min_tokens: 40 });
  assert.deepEqual([yes.message.content, yes.finish_reason], ["yes", "stop"]);
});

test("a stream with all options combined contains the same as the whole answer", async () => {
  const whole = await idsOf(everything);
  const response = await post({ ...everything, stream: true });
  const chunks = (await response.text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)) as { readonly choices: readonly Partial<Choice>[] });
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.choices[0]?.token_ids ?? []),
    whole,
  );
});

test("token ids that the model does not have, and options that leave no token, are refused by name", async () => {
  const beyond = "out-of-vocab token id";
  for (const [body, place, text] of [
    [{ logit_bias: { 672: 1 } }, "body.logit_bias", "Vocabulary size: 672"],
    [{ allowed_token_ids: [1, 672] }, "body.allowed_token_ids", beyond],
    [{ stop_token_ids: [99_999] }, "body.stop_token_ids", beyond],
  ] as const) {
    const [status, where, message] = await refusal(body);
    assert.deepEqual([status, where], [400, place]);
    assert.ok(message.includes(text), message);
    assert.ok(message.includes(place.slice(5)), message);
  }
  const nothing = { structured_outputs: { choice: ["yes"] }, allowed_token_ids: [endOfTurn] };
  const [status, , message] = await refusal(nothing);
  assert.equal(status, 400);
  assert.match(message, /No token continues the answer: the constraint and the allowed token ids/);
});
