import assert from "node:assert/strict";
import { test } from "node:test";
import { readMetrics, valueOf } from "./metrics.ts";

const text = `# HELP up Whether it is up.
# TYPE up gauge
up 1
requests{route="/a",status="200"} 3
requests{route="/a",status="500"} 1
requests{route="say \\"b\\"\\n",status="200"} 2.5e1
latency_bucket{le="+Inf"} 4
`;

test("parses metrics with labels, and sums over labels that are not specified", () => {
  const samples = readMetrics(text);
  assert.equal(valueOf(samples, "up"), 1);
  assert.equal(valueOf(samples, "requests", { route: "/a" }), 4);
  assert.equal(valueOf(samples, "requests", { route: 'say "b"\n' }), 25);
  assert.equal(valueOf(samples, "latency_bucket"), 4);
  assert.equal(valueOf(samples, "missing"), null);
});
