// Tests of the metrics that gateways read. The Gateway API inference extension requires these names, kinds and labels
// in its model server protocol (proposal 003); vLLM's metrics have them too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { exposeVllmGauges } from "./vllm-gauges.ts";

const gauge = (name: string, value: number, limit: number | null = null) => ({
  name,
  value,
  limit,
  about: name,
});

test("exposes the load and the adapters of each engine to gateways", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const gauges = [
    gauge("kv_cache_bytes", 5, 20),
    gauge("prefix_cache_queries", 70),
    gauge("prefix_cache_hits", 30),
  ];
  const state = { kind: "ready", limits: { contextLength: 8, vocabularySize: 8 } } as const;
  const counts = { state, runningCount: 1, waitingCount: 2, waitingCountMax: 3 };
  exposeVllmGauges(metrics, {
    bases: [
      { model: { name: "a" }, engine: { status: () => ({ ...counts, gauges: () => gauges }) } },
      // An engine of another kind, which has no gauges.
      { model: { name: "b" }, engine: { status: () => ({ ...counts, waitingCount: 0, gauges: () => [] }) } },
    ],
    chat: {
      trainedRequests: () => [
        { base: "a", modelId: "one", hasBegun: true },
        { base: "a", modelId: "one", hasBegun: true },
        { base: "a", modelId: "two", hasBegun: true },
        { base: "a", modelId: "three", hasBegun: false },
      ],
    },
    slotCountMax: 64,
    clock: { now: () => new Date(1_500) },
  });
  const { text } = await metrics.expose();
  assert.deepEqual(
    text.split("\n").filter((line) => line.startsWith("vllm:")),
    [
      'vllm:num_requests_running{model_name="a",engine="0"} 1',
      'vllm:num_requests_running{model_name="b",engine="0"} 1',
      'vllm:num_requests_waiting{model_name="a",engine="0"} 2',
      'vllm:num_requests_waiting{model_name="b",engine="0"} 0',
      'vllm:kv_cache_usage_perc{model_name="a",engine="0"} 0.25',
      'vllm:prefix_cache_queries_total{model_name="a",engine="0"} 70',
      'vllm:prefix_cache_hits_total{model_name="a",engine="0"} 30',
      'vllm:lora_requests_info{model_name="a",engine="0",max_lora="64",running_lora_adapters="one,two",waiting_lora_adapters="three"} 1.5',
      'vllm:lora_requests_info{model_name="b",engine="0",max_lora="64",running_lora_adapters="",waiting_lora_adapters=""} 1.5',
    ],
  );
  for (const name of [
    "num_requests_running",
    "num_requests_waiting",
    "kv_cache_usage_perc",
    "lora_requests_info",
  ])
    assert.match(text, new RegExp(`^# TYPE vllm:${name} gauge$`, "m"));
});
