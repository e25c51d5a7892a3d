// Tests of the header `traceparent`, with the cases of the W3C's own test suite:
// https://github.com/w3c/trace-context/tree/main/test
import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraceparent, writeTraceparent } from "./trace-context.ts";

const traceId = "12345678901234567890123456789012";
const spanId = "1234567890123456";

test("reads a well-formed header, and the known fields of a later version", () => {
  const sampled = { traceId, spanId, isSampled: true };
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-01`), sampled);
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-00`), { ...sampled, isSampled: false });
  for (const later of [`cc-${traceId}-${spanId}-01`, `cc-${traceId}-${spanId}-01-what-the-future-brings`])
    assert.deepEqual(readTraceparent(later), sampled, later);
  assert.equal(readTraceparent(`00-${traceId}-${spanId}-ff`)?.isSampled, true);
  assert.equal(writeTraceparent(sampled), `00-${traceId}-${spanId}-01`);
});

test("ignores a malformed header", () => {
  const malformed = [
    "",
    `00-${traceId}-${spanId}-01-`,
    `00-${traceId}-${spanId}-01-more`,
    `cc-${traceId}-${spanId}-01.more`,
    `ff-${traceId}-${spanId}-01`,
    `0-${traceId}-${spanId}-01`,
    `.0-${traceId}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-.${traceId.slice(1)}-${spanId}-01`,
    `00-${traceId}3-${spanId}-01`,
    `00-${traceId}-${spanId}7-01`,
    `00-${traceId}-${spanId.slice(1)}-01`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-.1`,
    `00-${traceId.replace("1", "A")}-${spanId}-01`,
    `00-${traceId}-${spanId}-01,00-${traceId}-${spanId}-01`,
  ];
  for (const text of malformed) assert.equal(readTraceparent(text), null, text);
});
