import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExactJson } from "../../base/domain/text/exact-json.ts";
import { canonicalText, textDigest } from "./digests.ts";
import { digestsIn, packRows, rowsIn } from "./packed-rows.ts";

test("unpacks the rows that it packed, for any content", () => {
  const rows = ['{"a":"\\n\\u2028"}', "{}", '{"b":1.0}', "{}"].map((text) => {
    const value = canonicalText(parseExactJson(text));
    return { digest: textDigest(value), value };
  });
  for (const some of [rows, []]) {
    const packed = packRows(some);
    assert.deepEqual([...rowsIn(packed)], some);
    assert.deepEqual(
      [...digestsIn(packed.digests)],
      some.map(({ digest }) => digest),
    );
  }
});
