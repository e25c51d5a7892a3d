import assert from "node:assert/strict";
import { test } from "node:test";
import type { EngineState, EngineStatus } from "../../../base/domain/generation.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { exposeGauges } from "./gauges.ts";

const limits = { contextLength: 8, vocabularySize: 8 };
const states: Readonly<Record<"ready" | "starting", EngineState>> = {
  ready: { kind: "ready", limits },
  starting: { kind: "starting", reason: "It begins." },
};
const bytes = { name: "cache_bytes", value: 5, limit: 9, about: "Bytes of the cache." };

test("exposes the state, queue and specific gauges of each engine with their limits, and the number of running jobs", async () => {
  const statuses: readonly [string, EngineStatus][] = [
    [
      "a",
      { state: states.ready, runningCount: 1, waitingCount: 2, waitingCountMax: 3, gauges: () => [bytes] },
    ],
    [
      "b",
      {
        state: states.starting,
        runningCount: 0,
        waitingCount: 0,
        waitingCountMax: 4,
        gauges: () => [
          { ...bytes, name: "hits", limit: null },
          { ...bytes, name: "part", limit: null, labels: { server: "x" } },
          { ...bytes, name: "part", value: 6, limit: null, labels: { server: "y" } },
          { ...bytes, name: "faults_total", limit: null, isTotal: true },
        ],
      },
    ],
  ];
  const metrics = createMetrics({ processMetrics: false });
  const bases = statuses.map(([name, status], index) => ({
    model: { name },
    engine: { status: () => status },
    texts: { waitingCount: 7 + index },
  }));
  exposeGauges(metrics, {
    bases,
    memory: { bytes: 10, bytesMax: 20, waitingCount: 3 },
    jobQueue: { status: () => ({ runningCount: 6, watcherCount: 2 }) },
  });
  const { text } = await metrics.expose();
  assert.deepEqual(
    text.split("\n").filter((line) => line.startsWith("hone_")),
    [
      "hone_model_memory_bytes 10",
      "hone_model_memory_bytes_max 20",
      "hone_model_requests_waiting 3",
      'hone_engine_ready{base_model="a"} 1',
      'hone_engine_ready{base_model="b"} 0',
      'hone_engine_requests_running{base_model="a"} 1',
      'hone_engine_requests_running{base_model="b"} 0',
      'hone_engine_requests_waiting{base_model="a"} 2',
      'hone_engine_requests_waiting{base_model="b"} 0',
      'hone_engine_requests_waiting_max{base_model="a"} 3',
      'hone_engine_requests_waiting_max{base_model="b"} 4',
      'hone_chat_prompts_waiting{base_model="a"} 7',
      'hone_chat_prompts_waiting{base_model="b"} 8',
      'hone_engine_cache_bytes{base_model="a"} 5',
      'hone_engine_cache_bytes_max{base_model="a"} 9',
      'hone_engine_hits{base_model="b"} 5',
      'hone_engine_part{base_model="b",server="x"} 5',
      'hone_engine_part{base_model="b",server="y"} 6',
      'hone_engine_faults_total{base_model="b"} 5',
      "hone_training_jobs_running 6",
      "hone_job_event_streams 2",
    ],
  );
});
