// Tests the choice of a content encoding by Accept-Encoding, with the examples of RFC 9110, section 12.5.3.
import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedEncoding } from "./accepted-encoding.ts";

test("chooses the encoding that the client weights highest, and of equal ones the first", () => {
  const cases = [
    [undefined, "identity"],
    ["", "identity"],
    ["compress, gzip", "gzip"],
    ["*", "br"],
    ["compress;q=0.5, gzip;q=1.0", "gzip"],
    ["gzip;q=1.0, identity; q=0.5, *;q=0", "gzip"],
    ["gzip, deflate, br", "br"],
    ["br;q=0.2, gzip;q=0.8", "gzip"],
    ["GZIP ; Q=0.8", "gzip"],
    ["gzip;q=0", "identity"],
    ["gzip;q=0.000, *;q=0.1", "br"],
    ["identity, gzip;q=0.5", "identity"],
    ["gzip;q=much", "identity"],
    ["zstd", "identity"],
  ] as const;
  for (const [header, expected] of cases)
    assert.equal(acceptedEncoding(header, ["br", "gzip"]), expected, header);
});
