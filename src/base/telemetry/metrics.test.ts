import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";

/** Returns the samples in the text of the metrics, as `name{labels} value`. */
const samplesOf = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("exposes counters, histograms, and gauges with their current values", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const requests = metrics.counter({ name: "hone_requests_total", help: "Requests.", labels: ["status"] });
  metrics.counter({ name: "hone_lost_total", help: "Lost.", labels: ["why"], known: [{ why: "full" }] });
  requests.increase({ status: "200" });
  requests.increase({ status: "200" }, 2);
  requests.increase({ status: "404" });
  const seconds = metrics.histogram({ name: "hone_wait_seconds", help: "Waits.", buckets: [0.1, 1] });
  seconds.observe(0.05);
  seconds.observe(0.5);
  let bases = [
    { labels: { base: "a" }, value: 1 },
    { labels: { base: "b" }, value: 2 },
  ];
  metrics.gauge({ name: "hone_running", help: "What runs.", labels: ["base"] }, () => bases);
  const { text, contentType } = await metrics.expose();
  assert.match(contentType, /^text\/plain/);
  assert.match(text, /^# HELP hone_running What runs\.$/m);
  assert.deepEqual(samplesOf(text), [
    'hone_requests_total{status="200"} 3',
    'hone_requests_total{status="404"} 1',
    'hone_lost_total{why="full"} 0',
    'hone_wait_seconds_bucket{le="0.1"} 1',
    'hone_wait_seconds_bucket{le="1"} 2',
    'hone_wait_seconds_bucket{le="+Inf"} 2',
    "hone_wait_seconds_sum 0.55",
    "hone_wait_seconds_count 2",
    'hone_running{base="a"} 1',
    'hone_running{base="b"} 2',
  ]);
  bases = [{ labels: { base: "b" }, value: 0 }];
  const later = samplesOf((await metrics.expose()).text).filter((line) => line.startsWith("hone_running"));
  assert.deepEqual(later, ['hone_running{base="b"} 0'], "an old sample is not exposed");
});

test("keeps a server's metrics separate, and adds the process's on request", async () => {
  const [own, whole] = [false, true].map((processMetrics) => createMetrics({ processMetrics }));
  own.counter({ name: "hone_x_total", help: "X." }).increase();
  assert.deepEqual(samplesOf((await own.expose()).text), ["hone_x_total 1"]);
  const { text } = await whole.expose();
  assert.match(text, /^process_resident_memory_bytes \d+/m);
  assert.doesNotMatch(text, /hone_x_total/);
});

test("exposes external counters as counters, read at each scrape", async () => {
  const metrics = createMetrics({ processMetrics: false });
  let value = 5;
  const options = { name: "hone_hits_total", help: "Hits.", labels: ["base"] };
  metrics.countedElsewhere(options, () => [{ labels: { base: "a" }, value }]);
  for (const expected of [5, 8, 1]) {
    value = expected;
    const { text } = await metrics.expose();
    assert.match(text, /^# TYPE hone_hits_total counter$/m);
    assert.deepEqual(samplesOf(text), [`hone_hits_total{base="a"} ${expected}`]);
  }
});

test("exposes nothing for a gauge that reads nothing, with labels or without", async () => {
  const metrics = createMetrics({ processMetrics: false });
  let values: readonly { readonly value: number }[] = [];
  metrics.gauge({ name: "hone_limit", help: "A limit." }, () => values);
  metrics.gauge({ name: "hone_others", help: "Others.", labels: ["base"] }, () => []);
  assert.deepEqual(samplesOf((await metrics.expose()).text), []);
  values = [{ value: 5 }];
  assert.deepEqual(samplesOf((await metrics.expose()).text), ["hone_limit 5"]);
  values = [];
  assert.deepEqual(samplesOf((await metrics.expose()).text), []);
});
