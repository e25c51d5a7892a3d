import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterSeconds } from "./retry-after.ts";

test("reads whole seconds and nothing else", () => {
  const fields = ["120", " 7 ", "0", "999999999"];
  assert.deepEqual(fields.map(retryAfterSeconds), [120, 7, 0, 999_999_999]);
  // The date in this list is the example of RFC 9110, section 10.2.3.
  const refused = ["Fri, 31 Dec 1999 23:59:59 GMT", "", "-5", "1.5", "1e3", "0x10", "Infinity", "1000000000"];
  assert.deepEqual([...refused, null, undefined].map(retryAfterSeconds), Array(10).fill(null));
});
