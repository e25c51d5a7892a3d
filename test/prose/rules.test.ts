// Tests the prose check itself: it finds all comments, and each rule refuses its example.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commentsOf } from "./comments.ts";
import { markdownPieces, sourceComments, testNames } from "./pieces.ts";
import { faultsOf, sentencesOf } from "./rules.ts";

test("finds comments, but none in strings, templates and regular expressions", () => {
  const source = [
    'const a = "// no" + `/* no ${b /* yes 1 */} // no`;',
    "const c = /\\/\\/[/*]/g; // yes 2",
    "const d = a / b / c; /** yes 3 */",
    "// yes 4",
    "//   goes further",
    "const e = 1;",
  ].join("\n");
  assert.deepEqual(
    commentsOf(source).map(({ line, lines }) => [line, lines.join("|").trim()]),
    [
      [1, "yes 1"],
      [2, "yes 2"],
      [3, "yes 3"],
      [4, "yes 4|  goes further"],
    ],
  );
});

test("finds comments after JSX text with an apostrophe and closing tags", () => {
  const source = "const a = <p>it's <b>9</b></p>;\n// yes\nconst b = 'c'; // yes 2";
  assert.deepEqual(
    commentsOf(source).map(({ line }) => line),
    [2, 3],
  );
});

test("splits Markdown into headings, paragraphs, items and cells, without code", () => {
  const pieces = markdownPieces(
    "# Title\n\nOne\ntwo `code`.\n\n```sh\nWhat is left out\n```\n* item\n| a | b |\n|---|---|\n| c | d |\n",
  );
  assert.deepEqual(
    pieces.map(({ line, text }) => `${line} ${text}`),
    ["1 Title", "3 One two code.", "9 item", "10 a", "10 b", "12 c", "12 d"],
  );
});

test("splits a comment at its tags and list items, and extracts test names", () => {
  assert.deepEqual(
    sourceComments("/**\n * Says more\n * here.\n *\n * * one\n * @param name the name\n */").map((pieces) =>
      pieces.map(({ text }) => text),
    ),
    [["Says more here.", "one", "the name"]],
  );
  assert.deepEqual(
    testNames('test("a name", () => {});\n  await t.test("another", run);').map(({ text }) => text),
    ["a name", "another"],
  );
});

const refused: readonly (readonly [text: string, rule: RegExp])[] = [
  ["What the text must match; null for any.", /open with a noun/],
  ["Whether requests are answered as fast as they will be.", /open with a noun/],
  ["Where the connection is lost, so is the cursor.", /open with a noun/],
  ["Of further types, nothing is said.", /bare "Of"/],
  ["Adds it. Whatever comes later is lost.", /begin a sentence/],
  ["It reads the file alone.", /"only"/],
  ["It lies beside the adapter.", /"next to"/],
  ["A copy for whoever asks.", /"anyone"/],
  ["The job goes on with the next step.", /"continues"/],
  ["It tells how many there are.", /"reports"/],
  ["A start that ends badly is tried again.", /"fails"/],
  ["It closes every one of them.", /"each"/],
  ["Counts what there is of a kind.", /what there is/],
  ["Keeps what of it is needed.", /what of/],
  ["It names the server of whom it was asked.", /name the thing/],
  ["It compares what was asked with what was answered.", /at most one "what"/],
  [`It ${"really ".repeat(39)}works.`, /at most 40 words/],
];

for (const [text, rule] of refused)
  test(`refuses "${text.slice(0, 60)}"`, () => {
    assert.match(
      faultsOf(text)
        .map((fault) => fault.rule)
        .join(),
      rule,
    );
  });

test("accepts plain sentences and questions", () => {
  for (const text of [
    "Safe cast: parsed from JSON.",
    "Constraint on the output; null if unconstrained.",
    "What is exact?",
    "True once warm-up has finished.",
  ])
    assert.deepEqual(faultsOf(text), [], text);
});

test("counts sentences, but does not end one at abbreviations and decimal points", () => {
  assert.equal(sentencesOf("Keeps 1.5 of them, e.g. The first. Then it stops. `code` follows.").length, 3);
});
