import assert from "node:assert/strict";
import { test } from "node:test";
import { highlighted } from "./highlight.ts";

/** Writes marked parts as `kind[part]`. */
const marked = (code: string, language: string): string =>
  highlighted(code, language, (text) => text.replaceAll("<", "&lt;"))
    .replaceAll(/<span class="code-(\w+)">/g, "$1[")
    .replaceAll("</span>", "]");

test("marks comments, texts, numbers and keywords", () => {
  assert.equal(
    marked('const a1 = "x // y"; // 5\n/* if */ let b = 0x1f;', "ts"),
    'word[const] a1 = text["x // y"]; comment[// 5]\ncomment[/* if */] word[let] b = number[0x1f];',
  );
  assert.equal(
    marked("if x: # no\n  y = 'a\\'b'", "Python"),
    "word[if] x: comment[# no]\n  y = text['a\\'b']",
  );
  assert.equal(marked("SELECT a -- all", "sql"), "word[SELECT] a comment[-- all]");
  assert.equal(marked("echo $# don't", "sh"), "word[echo] $# don't");
});

test("keeps and escapes all characters, also of texts without end and of unknown languages", () => {
  for (const language of ["js", "python", "sql", "text", ""])
    for (const code of ['"<b>', "`a\n<b>", "/* <b>", "'''<b>", '"""<b>', "# <b>\\", "x<y>z '\u{1f600}'"]) {
      const html = highlighted(code, language, (text) => text.replaceAll("<", "&lt;"));
      assert.equal(html.replaceAll(/<\/?span[^>]*>/g, "").replaceAll("&lt;", "<"), code);
      assert.doesNotMatch(html, /<b>/);
    }
  assert.equal(marked("if (1)", "text"), "if (1)");
});
