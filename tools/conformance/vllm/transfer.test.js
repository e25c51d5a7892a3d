// Tests that one vLLM server computes a prompt and another one answers it. A Hone server serves the two as the models
// `prefill` and `decode`. vLLM 0.32 counts fetched tokens only in its metrics, not among an answer's cached tokens.
import assert from "node:assert/strict";
import { test } from "node:test";

const { HONE_URL: url, HONE_KEY: key, DECODE_URL: decodeUrl } = process.env;

const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

function ask(body) {
  return fetch(`${url}/v1/completions`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function answered(body) {
  const answer = await ask(body);
  const text = await answer.text();
  assert.ok(answer.ok, `${answer.status} ${text}`);
  return JSON.parse(text);
}

/** Returns a random prompt, which no server has computed before. */
const newPrompt = () => Array.from({ length: 200 }, () => 20 + Math.floor(400 * Math.random()));
const greedy = { max_tokens: 16, temperature: 0, logprobs: 0, return_token_ids: true };

/** Returns how many prompt tokens the second server has fetched from the first. */
async function fetchedCount() {
  const metrics = await (await fetch(`${decodeUrl}/metrics`)).text();
  return Number(
    /^vllm:prompt_tokens_by_source_total\{.*source="external_kv_transfer"\} (.*)$/m.exec(metrics)?.[1] ?? 0,
  );
}

/** Returns the first server's answer; the second server continues from it. */
async function heldOf(prompt) {
  const body = {
    ...greedy,
    model: "prefill",
    prompt,
    max_tokens: 1,
    kv_transfer_params: { do_remote_decode: true },
  };
  const { kv_transfer_params: held } = await answered(body);
  assert.equal(typeof held.hone_seal, "string");
  assert.equal(held.do_remote_prefill, true);
  return held;
}

test("a fetched prompt gets the same answer as one that the server computed itself", async () => {
  for (const salt of ["one", "two", "three"]) {
    const prompt = newPrompt();
    const body = { ...greedy, model: "decode", prompt };
    const before = await fetchedCount();
    const there = await answered({ ...body, kv_transfer_params: await heldOf(prompt) });
    const fetched = (await fetchedCount()) - before;
    // The second server computes the prompt's last token itself.
    assert.ok(
      fetched >= prompt.length - 1,
      `${fetched} of ${prompt.length} tokens came from the other server`,
    );
    // A prompt with another salt may not use the cached blocks.
    const own = await answered({ ...body, cache_salt: salt });
    assert.equal(await fetchedCount(), before + fetched);
    const [one, other] = [there.choices[0], own.choices[0]];
    assert.deepEqual(one.token_ids, other.token_ids);
    for (const [index, logprob] of one.logprobs.token_logprobs.entries())
      assert.ok(Math.abs(logprob - other.logprobs.token_logprobs[index]) < 1e-4);
  }
});

test("Hone passes on a server's transfer parameters once and unchanged", async () => {
  const prompt = newPrompt();
  const held = await heldOf(prompt);
  const body = { ...greedy, model: "decode", prompt };
  const changed = await ask({ ...body, kv_transfer_params: { ...held, remote_host: "127.0.0.2" } });
  assert.equal(changed.status, 400, await changed.text());
  await answered({ ...body, kv_transfer_params: held });
  const again = await ask({ ...body, kv_transfer_params: held });
  assert.equal(again.status, 400, await again.text());
});
