// Compares normalized reactions with a table that the Python package `emoji` 2.16 computed.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readEmojiNames } from "./emoji-names.ts";
import { normaliseReaction } from "./reaction.ts";

type Row = { readonly sent: string } & ReturnType<typeof normaliseReaction>;

const rows = JSON.parse(readFileSync("test/fixtures/feedback/reactions.json", "utf8")) as readonly Row[];

test("names a reaction and removes its skin tone as in the recorded table", () => {
  assert.ok(rows.length > 20);
  for (const { sent, ...expected } of rows) assert.deepEqual(normaliseReaction(sent), expected, sent);
});

test("covers every emoji and every tone in the table", () => {
  const { nameOf, emojiOf } = readEmojiNames();
  const toned = [...nameOf.values()].filter((name) => /_(?:light|medium|dark)\S*_skin_tone/.test(name));
  assert.equal(toned.length, 2040);
  assert.equal(emojiOf.size, 1914 + 9 + 9);
  assert.equal(new Set(nameOf.values()).size, nameOf.size, "no two emoji share a name");
  // The expected hash is the SHA-256 of the same lines from the Python package's `EMOJI_DATA` (Unicode 18.0), without
  // selectors.
  const lines = [...nameOf]
    .map(([emoji, name]) => Buffer.from(`${emoji} ${name}`))
    .sort((a, b) => a.compare(b));
  const hash = createHash("sha256").update(lines.map(String).join("\n")).digest("hex");
  assert.equal(hash, "b16aa05304d65643aa4533ad55b50b9fac212c1c456434ea396ddf56d852b6dc");
});

test("accepts an emoji newer than the table of names, and removes its skin tone", () => {
  for (const young of ["\u{1f6da}", "\u{1fa7e}", "\u{1faed}"]) {
    assert.ok(!readEmojiNames().nameOf.has(young), "the table knows it by now: take a younger one");
    const plain = { alias: young, detoned: young, detonedAlias: young };
    assert.deepEqual(normaliseReaction(young), plain);
    const toned = `${young}\u{1f3fd}`;
    assert.deepEqual(normaliseReaction(toned), { ...plain, alias: toned });
    assert.deepEqual(normaliseReaction(`${young}👍`), { emojiCount: 2 });
  }
  // A chess piece is a symbol but not an emoji.
  assert.deepEqual(normaliseReaction("\u{1fa00}"), { emojiCount: 0 });
});

test("finds the emoji in a long text, and keeps the text around it", () => {
  const normal = normaliseReaction(`${"a ".repeat(1000)}👍🏿${" z".repeat(1000)}`);
  assert.ok("alias" in normal);
  assert.equal(normal.alias, `${"a ".repeat(1000)}:thumbs_up_dark_skin_tone:${" z".repeat(1000)}`);
  assert.equal(normal.detoned, `${"a ".repeat(1000)}👍${" z".repeat(1000)}`);
});

test("scans a long text of possible emoji prefixes only once", () => {
  assert.deepEqual(normaliseReaction("1#👩\u200d".repeat(50_000)), { emojiCount: 50_000 });
});
