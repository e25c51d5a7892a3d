// Tests that digests equal those that the Python package weave 0.54.0 computes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseExactJson } from "../../base/domain/text/exact-json.ts";
import { bytesDigest, canonicalText, tableDigest, textDigest } from "./digests.ts";

// Safe cast: the script that wrote the file gave it this shape.
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

test("computes the same digest of an object as the client, for any numbers, keys and texts", () => {
  assert.ok(recorded.objects.length > 10);
  for (const { text, digest } of recorded.objects) assert.equal(digestOf(text), digest, text);
});

test("computes a table's digest from the digests of its rows, and a file's digest from its bytes", () => {
  const { table, file } = recorded;
  assert.deepEqual(table.rows.map(digestOf), table.row_digests);
  assert.equal(tableDigest(table.row_digests.join("")), table.digest);
  assert.equal(bytesDigest(Buffer.from(file.text)), file.digest);
});

test("hashes canonical text that parses to the same value as the original", () => {
  for (const { text } of recorded.objects) {
    const canonical = canonicalText(parseExactJson(text));
    // Replaces -0 with 0, because Python's parser reads -0 as 0.
    const plain = (json: string): unknown =>
      JSON.parse(json, (_key, value: unknown) => (value === 0 ? 0 : value));
    assert.deepEqual(plain(canonical), plain(text));
    assert.equal(canonicalText(parseExactJson(canonical)), canonical);
  }
});
