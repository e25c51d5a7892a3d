// Digests against those that the Python package weave 0.54.0 computes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseExactJson } from "../../base/domain/text/exact-json.ts";
import { bytesDigest, canonicalText, tableDigest, textDigest } from "./digests.ts";

// The shape of the file is its maker's.
const recorded = JSON.parse(readFileSync("test/fixtures/weave/digests.json", "utf8")) as {
  readonly objects: readonly { readonly text: string; readonly digest: string }[];
  readonly table: {
    readonly rows: readonly string[];
    readonly row_digests: readonly string[];
    readonly digest: string;
  };
  readonly file: { readonly text: string; readonly digest: string };
};

const digestOf = (text: string): string => textDigest(canonicalText(parseExactJson(text)));

test("an object has the digest that its client computes, whatever numbers, keys and texts it has", () => {
  assert.ok(recorded.objects.length > 10);
  for (const { text, digest } of recorded.objects) assert.equal(digestOf(text), digest, text);
});

test("a table has the digest of its rows' digests, and a file that of its bytes", () => {
  const { table, file } = recorded;
  assert.deepEqual(table.rows.map(digestOf), table.row_digests);
  assert.equal(tableDigest(table.row_digests.join("")), table.digest);
  assert.equal(bytesDigest(Buffer.from(file.text)), file.digest);
});

test("what the digest is of is the same value again", () => {
  for (const { text } of recorded.objects) {
    const canonical = canonicalText(parseExactJson(text));
    // Python reads -0 as 0.
    const plain = (json: string): unknown =>
      JSON.parse(json, (_key, value: unknown) => (value === 0 ? 0 : value));
    assert.deepEqual(plain(canonical), plain(text));
    assert.equal(canonicalText(parseExactJson(canonical)), canonical);
  }
});
