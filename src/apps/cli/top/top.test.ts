// Tests that metrics written by prom-client are parsed, and that `hone top` shows them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { ratesBetween } from "./rates.ts";
import { readMetrics, sumOf } from "./read-metrics.ts";
import { readingOf } from "./readings.ts";
import { History, type Snapshot } from "./snapshot.ts";
import { plainTop, renderTop } from "./top-view.ts";

/** Returns the metrics of a server with these counts as text. */
async function exposed(answered: {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly failed?: number;
}): Promise<string> {
  const metrics = createMetrics({ processMetrics: false });
  const tokens = metrics.counter({ name: "hone_chat_tokens_total", help: "x", labels: ["base", "kind"] });
  for (const kind of ["prompt", "cached", "completion"] as const)
    tokens.increase({ base: 'a "b"\\', kind }, answered[kind]);
  const requests = metrics.counter({ name: "hone_chat_requests_total", help: "x", labels: ["outcome"] });
  requests.increase({ outcome: "completed" }, 10);
  requests.increase({ outcome: "cancelled" }, 3);
  requests.increase({ outcome: "internal" }, answered.failed ?? 2);
  const first = metrics.histogram({ name: "hone_chat_first_output_seconds", help: "x", buckets: [1] });
  first.observe(0.5);
  const gauge = (name: string, value: number, labels: Readonly<Record<string, string>> = {}): void =>
    metrics.gauge({ name, help: "x", labels: Object.keys(labels) }, () => [{ labels, value }]);
  const base = { base_model: "tiny" };
  gauge("hone_engine_requests_running", 3, base);
  gauge("hone_engine_requests_waiting", 1, base);
  gauge("hone_engine_requests_waiting_max", 1024, base);
  gauge("hone_engine_kv_cache_bytes", 5e8, base);
  gauge("hone_engine_kv_cache_bytes_max", 1e9, base);
  gauge("process_resident_memory_bytes", 2e8);
  gauge("process_cpu_seconds_total", answered.prompt / 100);
  gauge("hone_process_memory_bytes", 4e8, { process: "engine", pid: "77" });
  gauge("hone_process_cpu_seconds", answered.completion / 10, { process: "engine", pid: "77" });
  return (await metrics.expose()).text;
}

async function snapshotOf(answered: Parameters<typeof exposed>[0], monotonicMs: number): Promise<Snapshot> {
  return {
    at: new Date(monotonicMs),
    monotonicMs,
    url: "http://127.0.0.1:8000",
    version: "1.2.3",
    state: "ready",
    reason: "",
    reading: readingOf(readMetrics(await exposed(answered)), { tiny: "loaded" }),
    jobs: [
      {
        id: "j",
        model: "p/agent",
        kind: "rl",
        state: "training",
        progress: 0.25,
        secondsLeft: 90,
        waitingFor: null,
      },
      {
        id: "k",
        model: "p/other",
        kind: "sft",
        state: "queued",
        progress: null,
        secondsLeft: null,
        waitingFor: "room on the disk",
      },
    ],
    jobsRefusal: null,
  };
}

const earlier = { prompt: 100, cached: 50, completion: 10 };
const later = { prompt: 300, cached: 150, completion: 30, failed: 4 };

test("parses metrics with any characters in label values", async () => {
  const samples = readMetrics(await exposed(earlier));
  assert.deepEqual(samples.get("hone_chat_tokens_total")?.[0], {
    labels: { base: 'a "b"\\', kind: "prompt" },
    value: 100,
  });
  assert.equal(sumOf(samples, "hone_chat_requests_total"), 15);
  assert.equal(sumOf(samples, "hone_chat_requests_total", { outcome: "internal" }), 2);
  assert.equal(sumOf(samples, "there_is_none"), null);
  assert.equal(readMetrics("a 1e3\nb +Inf\n# HELP c x\nc NaN 1700000000").get("b")?.[0].value, Infinity);
});

test("computes rates from counters, and returns null if the server restarted", async () => {
  const [before, after] = await Promise.all([snapshotOf(earlier, 0), snapshotOf(later, 4000)]);
  const rates = ratesBetween(before.reading.totals, after.reading.totals, 4);
  assert.deepEqual(rates, {
    promptTokens: 50,
    generatedTokens: 5,
    requests: 0.5,
    failures: 0.5,
    prefixHitShare: 0.5,
    firstOutputSeconds: null,
    cpuShares: new Map([
      ["server ", 0.5],
      ["engine 77", 0.5],
    ]),
  });
  assert.equal(ratesBetween(after.reading.totals, before.reading.totals, 4), null);
});

test("shows load, memory, processes, models and jobs, as a screen and as a log line", async () => {
  const history = new History();
  history.add(await snapshotOf(earlier, 0));
  assert.equal(history.rates, null);
  const snapshot = await snapshotOf(later, 4000);
  history.add(snapshot);
  const view = { snapshot, rates: history.rates, curves: history.curves, notice: "No answer." };
  const text = renderTop(view, { columns: 100, rows: 60 }).join("\n");
  for (const part of [
    /^hone 1\.2\.3 {2}http:\/\/127\.0\.0\.1:8000 {2}ready {2}00:00:04 UTC\nNo answer\.\n/,
    /^prompt +50 tokens\/s +▁$/m,
    /^generated +5 tokens\/s/m,
    /^queue +1 waiting of 1024/m,
    /^prefix hits +50 % of prompt tokens/m,
    /^server +200 MB +50 % of a core$/m,
    /^engine +400 MB +50 % of a core +process 77$/m,
    /^tiny +loaded, 3 running, 1 waiting\n +▕████████ +▏ KV cache 500 MB of 1 GB/m,
    /^job +j {2}p\/agent {2}rl {2}training ▕████ +▏ 25 %, about 90 s left$/m,
    /^job +k {2}p\/other {2}sft {2}queued, waiting for room on the disk$/m,
  ])
    assert.match(text, part);
  assert.match(
    plainTop(view),
    /ready {2}running 3 {2}waiting 1 {2}prompt 50 tokens\/s {2}generated 5 tokens\/s .* jobs 1 running, 1 queued$/,
  );
});

test("fits terminals of any size", async () => {
  const history = new History();
  for (let look = 0; look < 500; look++) history.add(await snapshotOf(earlier, look * 1000));
  const snapshot = await snapshotOf(earlier, 500_000);
  const view = { snapshot, rates: history.rates, curves: history.curves, notice: "n".repeat(500) };
  for (const columns of [1, 20, 80, 300])
    for (const rows of [2, 5, 12, 60]) {
      const lines = renderTop(view, { columns, rows });
      assert.ok(lines.length < rows && lines.every((line) => line.length <= columns), `${columns} x ${rows}`);
    }
});
