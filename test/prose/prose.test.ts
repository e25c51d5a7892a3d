// Checks docs, comments and test names against the project's rules for English (`rules.ts`). Also checks help texts,
// settings and descriptions of API fields, in the pages generated from them.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { markdownFiles } from "../docs/page-blocks.ts";
import { markdownPieces, sourceComments, testNames, type Piece } from "./pieces.ts";
import { commentSentencesMax, faultsOf, sentencesOf } from "./rules.ts";

const skipped = /(?:^|\/)(?:node_modules|\.venv[^/]*|fixtures)(?:\/|$)|^src\/apps\/client\/api\.ts$/;

const report = (path: string, pieces: readonly Piece[]): readonly string[] =>
  pieces.flatMap(({ line, text }) =>
    faultsOf(text).map(({ rule, words }) => `${path}:${line}: ${rule}: "${words}"`),
  );

const sources = (): readonly string[] =>
  ["src", "test", "tools", "examples", "scripts", "bin"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => /\.(?:tsx?|m?js)$/.test(path) && !skipped.test(path)),
  );

/** Returns the faults in the comments and test names of one source. */
function sourceFaults(path: string, text: string): readonly string[] {
  return sourceComments(text)
    .flatMap((pieces) => [
      ...report(path, pieces),
      ...pieces
        .filter((piece) => sentencesOf(piece.text).length > commentSentencesMax)
        .map(({ line }) => `${path}:${line}: at most ${commentSentencesMax} sentences a comment`),
    ])
    .concat(report(path, testNames(text)));
}

test("comments and names of tests are plain English", () => {
  assert.deepEqual(
    sources().flatMap((path) => sourceFaults(path, readFileSync(path, "utf8"))),
    [],
  );
});

test("docs, help texts and settings are plain English", () => {
  const pages = markdownFiles();
  assert.ok(pages.length > 30);
  assert.deepEqual(
    pages.flatMap((path) => report(path, markdownPieces(readFileSync(path, "utf8")))),
    [],
  );
});
