import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface ListedMutation {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly suite: string;
}

test("each listed mutation matches its file exactly once, and its suite exists", () => {
  const listed = JSON.parse(readFileSync("scripts/mutations.json", "utf8")) as readonly ListedMutation[];
  const missed = listed.filter(({ file, find, suite }) => {
    const parts = readFileSync(`dist/${file}.js`, "utf8").split(find);
    return parts.length !== 2 || readFileSync(`dist/${suite}.js`, "utf8") === "";
  });
  assert.deepEqual(
    missed.map(({ name }) => name),
    [],
  );
});
