import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { accepts, readLanguage } from "../grammar/language.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "./limits.ts";
import { regex } from "../grammar/testing/constraints.ts";

const limits = defaultGrammarLimits;
const seed = Number(process.env.SEED ?? 20_261_122);

function matches(pattern: string, text: string): boolean {
  return accepts(readLanguage(regex(pattern), limits), text);
}

const characterPatterns = [
  " ",
  ..."a b 0 _ é 😀 . \\d \\w \\s \\D \\W \\S \\u00e9 \\x61 \\. \\n \\u{1F600}".split(" "),
  ..."[ab] [^ab] [a-z0-9] [^\\d] [é-ü] [\\s_] [^\\w] [\\u{1F600}-\\u{1F64F}]".split(" "),
];
const quantifiers = " , , ,*,+,?,{2},{1.2},{0.3},{2.},*?,+?"
  .split(",")
  .map((text) => text.trim().replace(".", ","));

/** Patterns of the subset that both dialects share, over few characters. */
const patterns = fc.letrec<{ readonly atom: string; readonly choice: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: fc.constantFrom(...characterPatterns) },
    { weight: 1, arbitrary: tie("choice").map((inner) => `(?:${inner})`) },
    { weight: 1, arbitrary: tie("choice").map((inner) => `(${inner})`) },
  ),
  choice: fc
    .array(
      fc
        .array(fc.tuple(tie("atom"), fc.constantFrom(...quantifiers)), { maxLength: 4 })
        .map((parts) => parts.flat().join("")),
      { minLength: 1, maxLength: 3 },
    )
    .map((options) => options.join("|")),
})).choice;

/** Long ones take the other engine, which backtracks, for ever. */
const shortPatterns = patterns.filter((pattern) => pattern.length <= 30);

const texts = fc
  .array(fc.constantFrom("a", "b", "0", "_", " ", "\n", ".", "é", "😀"), { maxLength: 7 })
  .map((parts) => parts.join(""));

test("matches what JavaScript's engine matches", () => {
  fc.assert(
    fc.property(shortPatterns, fc.array(texts, { minLength: 10, maxLength: 10 }), (pattern, samples) => {
      const expected = new RegExp(`^(?:${pattern})$`, "u");
      const language = readLanguage(regex(pattern), limits);
      for (const text of samples)
        assert.equal(accepts(language, text), expected.test(text), JSON.stringify({ pattern, text }));
    }),
    { seed, numRuns: 1_000 },
  );
});

const assertions = [
  ["^a|b$", "^(?:^a|b$)$"],
  ["(^a)?b", null],
  ["a(b$)?", null],
  ["a*^b", null],
  ["(?=.*b)a[ab]*", null],
  ["(?!ab)[ab]*", null],
  ["a(?!b)[ab]{2}", null],
  ["(?!.*aa)[ab]{0,4}$", null],
  ["()|x", null],
] as const;

test("works out anchors and look-aheads", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...assertions),
      fc.string({ unit: fc.constantFrom("a", "b", "x"), maxLength: 5 }),
      ([pattern], text) => {
        const expected = new RegExp(`^(?:${pattern})$`, "u").test(text);
        assert.equal(matches(pattern, text), expected, JSON.stringify({ pattern, text }));
      },
    ),
    { seed, numRuns: 300 },
  );
});

test("takes dashes, braces and escaped signs as browsers do", () => {
  for (const [pattern, text] of [
    ["[\\w-.]", "-"],
    ["a{,2}", "a{,2}"],
    ["\\-\\_\\%", "-_%"],
    ["[^]", "\n"],
    ["(?<year>\\d+)", "12"],
    ["\\p{Lu}\\p{Script=Greek}", "Äω"],
    ["\\cJ", "\n"],
  ])
    assert.ok(matches(pattern, text), pattern);
  assert.ok(!matches("\\p{Lu}", "a"));
});

test("refuses what it cannot express, with the position", () => {
  for (const [pattern, kind, subject, place] of [
    ["(a)\\1", "not-exact", "a back reference", "position 3"],
    ["a(?<=b)", "not-exact", "a look-behind", "position 1"],
    ["\\bword", "not-exact", "a word boundary", "position 0"],
    ["a++", "not-exact", "a possessive quantifier", "position 2"],
    ["(?i)a", "not-exact", "a group with flags", "position 0"],
    ["\\A", "not-exact", "the escape \\A", "position 0"],
    ["a(?:^b|x)*", "not-exact", "a repeated assertion", ""],
    ["(a", "malformed", "an unclosed group", "position 0"],
    ["a)", "malformed", "an unmatched )", "position 1"],
    ["[b-a]", "malformed", "a range whose ends are out of order", "position 2"],
    ["[a", "malformed", "an unclosed class", "position 0"],
    ["*a", "malformed", "nothing to repeat", "position 0"],
    ["a{3,2}", "malformed", "a quantifier whose bounds are out of order", "position 1"],
    ["a{20000}", "not-exact", "a quantifier of more than 10000 repetitions", "position 1"],
    [`${"(".repeat(300)}a${")".repeat(300)}`, "limit", "nesting", ""],
    ["a(?!.*)", "unsatisfiable", "regex", ""],
  ] as const) {
    assert.throws(
      () => readLanguage(regex(pattern), limits),
      (error: unknown) => {
        assert.ok(error instanceof ConstraintRefusal, pattern);
        assert.deepEqual([error.kind, error.subject, error.place], [kind, subject, place], pattern);
        return true;
      },
    );
  }
});

test("hostile patterns end at a limit", () => {
  const few = { ...limits, compileSteps: 20_000 };
  const text = "ab".repeat(2_000);
  for (const [pattern, limit] of [
    ["(?:(?:a{0,1000}){0,1000}b){0,1000}c", /compileSteps/],
    ["(?=[ab]*a[ab]{18}$)[ab]*b[ab]{18}", /compileSteps/],
    ["(?=(?:.{97})+$)(?=(?:.{89})+$)(?:.{101})+", /compileSteps/],
    ["a?".repeat(3_000), /nesting/],
  ] as const)
    assert.throws(() => accepts(readLanguage(regex(pattern), few), text), limit, pattern.slice(0, 50));
});
