// Compares vLLM's metrics on a running server with the clients' answers: counts of tokens and requests must agree with
// `usage`. Names and types must be those that vLLM documents and that gateways read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, eventually, serverOfFile } from "./running-server.ts";
import { goldenModel, registerModel, submitJob, finish } from "./served-jobs.ts";

/** Types according to vLLM's documentation of its `/metrics`. */
const kinds = {
  num_requests_running: "gauge",
  num_requests_waiting: "gauge",
  kv_cache_usage_perc: "gauge",
  lora_requests_info: "gauge",
  prefix_cache_queries_total: "counter",
  prefix_cache_hits_total: "counter",
  prompt_tokens_total: "counter",
  generation_tokens_total: "counter",
  request_success_total: "counter",
  request_prompt_tokens: "histogram",
  request_generation_tokens: "histogram",
  time_to_first_token_seconds: "histogram",
  request_time_per_output_token_seconds: "histogram",
  e2e_request_latency_seconds: "histogram",
  request_queue_time_seconds: "histogram",
  request_prefill_time_seconds: "histogram",
  request_decode_time_seconds: "histogram",
  request_inference_time_seconds: "histogram",
} as const;

const serverOfTests = serverOfFile({ flags: goldenModel });

async function scrape(): Promise<{ readonly text: string; readonly valueOf: (name: string) => number }> {
  const text = await (await fetch(`${serverOfTests().url}/metrics`)).text();
  const valueOf = (name: string): number => {
    const lines = text.split("\n").filter((line) => line.startsWith(`vllm:${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  };
  return { text, valueOf };
}

test("counts and durations agree with the clients' answers", async () => {
  const server = serverOfTests();
  const before = await scrape();
  const usages: { readonly prompt_tokens: number; readonly completion_tokens: number }[] = [];
  const body = { model: "tiny", messages: [{ role: "user", content: "go on" }], max_tokens: 6, n: 2 };
  for (const seed of [1, 2, 3]) {
    const answered = await call(server, "POST", "/v1/chat/completions", { body: { ...body, seed } });
    assert.equal(answered.status, 200, JSON.stringify(answered.body));
    usages.push(answered.body.usage);
  }
  const refused = await call(server, "POST", "/v1/chat/completions", { body: { ...body, model: "unknown" } });
  assert.equal(refused.status, 404);
  const { text, valueOf } = await scrape();
  const grown = (name: string): number => valueOf(name) - before.valueOf(name);
  const sum = (field: "prompt_tokens" | "completion_tokens"): number =>
    usages.reduce((total, usage) => total + usage[field], 0);
  assert.equal(grown("prompt_tokens_total"), sum("prompt_tokens"));
  assert.equal(grown("generation_tokens_total"), sum("completion_tokens"));
  assert.equal(grown("request_prompt_tokens_sum"), sum("prompt_tokens"));
  assert.equal(grown("request_generation_tokens_sum"), sum("completion_tokens"));
  assert.equal(grown("request_success_total"), 6);
  for (const name of ["time_to_first_token", "e2e_request_latency", "request_queue_time"])
    assert.equal(grown(`${name}_seconds_count`), 3, name);
  const parts = ["queue", "prefill", "decode"].map((part) => grown(`request_${part}_time_seconds_sum`));
  assert.ok(parts.every((seconds) => seconds >= 0));
  const whole = grown("e2e_request_latency_seconds_sum");
  assert.ok(parts.reduce((one, other) => one + other) <= whole, `${parts.join()} of ${whole}`);
  assert.ok(grown("prefix_cache_hits_total") <= grown("prefix_cache_queries_total"));
  for (const [name, kind] of Object.entries(kinds))
    assert.match(text, new RegExp(`^# TYPE vllm:${name} ${kind}$`, "m"));
  for (const line of text.split("\n").filter((one) => one.startsWith("vllm:")))
    assert.match(line, /^vllm:\w+\{(le="[^"]+",)?model_name="tiny",engine="0"/);
});

test("names the trained models on which requests are running", async () => {
  const server = serverOfTests();
  const modelId = await registerModel(server, "shown");
  await finish(server, await submitJob(server, modelId, 1));
  const leaving = new AbortController();
  const running = fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: modelId,
      messages: [{ role: "user", content: "go on" }],
      max_tokens: 200,
      ignore_eos: true,
      n: 64,
      stream: true,
    }),
    signal: leaving.signal,
  });
  await running;
  const shown = (await scrape()).text;
  assert.match(shown, new RegExp(`^vllm:lora_requests_info\\{.*running_lora_adapters="${modelId}"`, "m"));
  assert.match(shown, /^vllm:num_requests_running\{model_name="tiny",engine="0"\} 1$/m);
  leaving.abort();
  await eventually("it has left", async () =>
    (await scrape()).text.includes('running_lora_adapters=""') ? true : null,
  );
});
