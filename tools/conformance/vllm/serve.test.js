// Tests over HTTP a Hone server that uses vLLM as its engine; `run.py` starts both and passes the address. Covers
// chats, streams, a version trained by a job, and its log-probabilities.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone, train } from "../../../dist/src/apps/client/index.js";

const { HONE_URL: url, HONE_KEY: key } = process.env;

const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

async function textOf(path, asked) {
  const answer = await fetch(`${url}${path}`, { headers, ...asked });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return text;
}

const get = (path) => textOf(path, {}).then(JSON.parse);
const postText = (path, body) => textOf(path, { method: "POST", body: JSON.stringify(body) });
const post = (path, body) => postText(path, body).then(JSON.parse);
const messages = [{ role: "user", content: "Say yes or no." }];

test("lists the model and reports that it is healthy", async () => {
  const { data } = await get("/v1/models");
  const big = data.find(({ id }) => id === "big");
  assert.equal(big.status.value, "loaded");
  assert.deepEqual([big.device.value, big.exact], ["vllm", false]);
  const health = await get("/health");
  assert.equal(health.models.big, "loaded");
});

test("answers a chat the same with and without streaming", async () => {
  const request = { model: "big", messages, max_tokens: 12, temperature: 0, logprobs: true, top_logprobs: 3 };
  const whole = await post("/v1/chat/completions", { ...request, return_token_ids: true });
  const [choice] = whole.choices;
  assert.equal(choice.token_ids.length, whole.usage.completion_tokens);
  for (const { logprob, top_logprobs: top } of choice.logprobs.content) {
    assert.ok(logprob <= 0 && top.length === 3);
    assert.equal(top[0].logprob, logprob, "a greedy token is the most probable");
  }
  const text = await postText("/v1/chat/completions", { ...request, stream: true });
  const parts = text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "");
  assert.equal(parts.join(""), choice.message.content);
});

test("constrains an answer", async () => {
  const request = { model: "big", messages, max_tokens: 12, structured_outputs: { choice: ["yes", "no"] } };
  const { choices } = await post("/v1/chat/completions", request);
  assert.match(choices[0].message.content, /^(yes|no)$/);
});

test("refuses fields that vLLM would ignore, and names them", async () => {
  for (const [field, more] of [
    ["use_beam_search", { use_beam_search: true, n: 2 }],
    ["bad_words", { bad_words: ["yes"] }],
  ]) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "big", messages, max_tokens: 2, ...more }),
    });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), new RegExp(field));
  }
});

test("vLLM serves a version trained by a job, with log-probabilities of that version", async () => {
  const hone = new Hone({ baseURL: url, apiKey: key });
  const model = await hone.model("conformance/lengths", { base: "big" });
  const result = await train(model, {
    tasks: ["yes", "no"],
    rollout: async (word, trajectory) => {
      const answer = await trajectory.chat({ messages: [{ role: "user", content: word }], max_tokens: 8 });
      return new Set(answer.choices[0].message.content ?? "").size / 8;
    },
    groupSize: 4,
    rounds: 1,
    display: false,
  });
  assert.equal(result.step, 1);
  const listed = await fetch(`${process.env.VLLM_URL}/v1/models`, {
    headers: { authorization: `Bearer ${process.env.VLLM_KEY}` },
  }).then((answer) => answer.json());
  const adapters = listed.data.filter(({ parent }) => parent !== null).map(({ id }) => id);
  assert.ok(
    adapters.some((id) => /:1@[0-9a-f]{16}$/.test(id)),
    `vLLM has ${adapters.join(", ")}`,
  );
  const request = { messages, max_tokens: 6, temperature: 0, logprobs: true };
  const logprobsOf = async (name) => {
    const { choices } = await post("/v1/chat/completions", { ...request, model: name });
    return choices[0].logprobs.content.map(({ logprob }) => logprob);
  };
  assert.notDeepEqual(await logprobsOf(result.model), await logprobsOf("big"), "the adapter counts");
});
