// Tests priority scheduling from the clients' point of view: which request comes first, and what happens to a preempted
// request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile({
  flags: ["--engine-scheduling", "priority"],
  limits: { engine: { slotCountMax: 2 } },
});

async function post(body: object): Promise<Response> {
  return fetch(`${server().url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: "tell me a story" }],
      temperature: 1,
      seed: 5,
      ...body,
    }),
  });
}

async function answer(body: object) {
  const response = await post(body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as {
    readonly choices: readonly { readonly token_ids: readonly number[]; readonly logprobs: object }[];
    readonly usage: {
      readonly prompt_tokens: number;
      readonly prompt_tokens_details: { readonly cached_tokens: number };
    };
  };
}

test("a request with lower `priority` value preempts one with a higher value, whose answer stays the same as undisturbed", async () => {
  const regex = "([a-z]{3} ){60}";
  const worse = { n: 2, priority: 7, structured_outputs: { regex }, logprobs: true, return_token_ids: true };
  const alone = await answer(worse);
  const ended: string[] = [];
  const interrupted = answer(worse).then((body) => {
    ended.push("worse");
    return body;
  });
  // Sends these requests one after the other, each while both slots are occupied.
  for (let count = 0; count < 3; count++) {
    await answer({ n: 2, priority: count - 4, max_tokens: 2 });
    ended.push("better");
  }
  const { choices } = await interrupted;
  assert.deepEqual(ended, ["better", "better", "better", "worse"]);
  assert.deepEqual(choices, alone.choices);
  assert.ok(choices.every(({ token_ids: ids }) => ids.length > 60));
});

test("`cache_salt` keeps cached prefixes from requests with another salt, and has no other effect", async () => {
  const story = "Sam has a red ball and Ann has a blue one. ".repeat(8);
  const ask = (salt: string) =>
    answer({
      messages: [{ role: "user", content: story }],
      max_tokens: 5,
      return_token_ids: true,
      cache_salt: salt,
    });
  const answers = [];
  for (const salt of ["a/b+c=", "a/b+c=", "another"]) answers.push(await ask(salt));
  const [{ choices, usage }] = answers;
  assert.deepEqual(
    answers.map((body) => body.choices),
    answers.map(() => choices),
  );
  assert.deepEqual(
    answers.map((body) => body.usage.prompt_tokens_details.cached_tokens),
    [0, usage.prompt_tokens, 0],
  );
  for (const salt of ["", "s".repeat(1025), 3]) {
    const refused = await post({ cache_salt: salt });
    assert.equal(refused.status, 422);
    assert.match(await refused.text(), /"cache_salt"/);
  }
});
