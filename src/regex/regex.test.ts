import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { accepts, readLanguage } from "../grammar/language.ts";
import type { Language } from "../grammar/language.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "./limits.ts";
import { checkRefusal } from "./testing/check-refusal.ts";
import { patternsWithTexts } from "./testing/random-patterns.ts";
import { regex } from "../grammar/testing/constraints.ts";

const limits = defaultGrammarLimits;
const seed = Number(process.env.SEED ?? 20_261_122);

/** Null for a pattern that no text matches; undefined for one that costs too much. */
function readOrRefuse(pattern: string): Language | null | undefined {
  try {
    return readLanguage(regex(pattern), limits);
  } catch (error) {
    if (error instanceof ConstraintRefusal && error.kind === "unsatisfiable") return null;
    if (error instanceof ConstraintRefusal && error.kind === "limit") return undefined;
    throw error;
  }
}

function matches(pattern: string, text: string): boolean {
  return accepts(readLanguage(regex(pattern), limits), text);
}

test("matches what JavaScript's engine matches", () => {
  let servedCount = 0;
  let textCount = 0;
  let matchCount = 0;
  fc.assert(
    fc.property(patternsWithTexts, ({ pattern, flags, texts }) => {
      const expected = new RegExp(`^(?:${pattern})$`, `u${flags}`);
      const language = readOrRefuse(flags === "" ? pattern : `(?${flags}:${pattern})`);
      if (language === undefined) return;
      servedCount += 1;
      for (const text of texts) {
        const isMatch = expected.test(text);
        const accepted: boolean = language !== null && accepts(language, text);
        assert.equal(accepted, isMatch, JSON.stringify({ pattern, flags, text }));
        textCount += 1;
        matchCount += isMatch ? 1 : 0;
      }
    }),
    { seed, numRuns: 2_000 },
  );
  assert.ok(servedCount > 1_990, `${servedCount} patterns`);
  assert.ok(matchCount > textCount / 4 && matchCount < (textCount * 3) / 4, `${matchCount} of ${textCount}`);
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
    ["(?i:straße)(?s:.)", "STRAẞE\n"],
    ["(?s:a(?-s:.)).", "abc"],
  ])
    assert.ok(matches(pattern, text), pattern);
  assert.ok(!matches("\\p{Lu}", "a"));
  assert.ok(!matches("(?s:a(?-s:.)).", "a\nc"));
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
    ["\\c1", "malformed", "an escape that is cut short", "position 0"],
    ["[a", "malformed", "an unclosed class", "position 0"],
    ["*a", "malformed", "nothing to repeat", "position 0"],
    ["a{3,2}", "malformed", "a quantifier whose bounds are out of order", "position 1"],
    ["a{20000}", "not-exact", "a quantifier of more than 10000 repetitions", "position 1"],
    [`${"(".repeat(300)}a${")".repeat(300)}`, "limit", "nesting", ""],
    ["a(?!.*)", "unsatisfiable", "regex", ""],
  ] as const)
    checkRefusal(() => readLanguage(regex(pattern), limits), [kind, subject, place], pattern);
});

test("hostile patterns end at a limit", () => {
  const few = { ...limits, compileSteps: 10_000 };
  const text = "a".repeat(400);
  for (const [pattern, limit] of [
    ["(?:(?:a{0,1000}){0,1000}b){0,1000}c", /compileSteps/],
    ["(?=[ab]*a[ab]{18}$)[ab]*b[ab]{18}", /compileSteps/],
    ["(?=(?:.{97})+$)(?=(?:.{89})+$)(?:.{101})+", /compileSteps/],
    ["a?".repeat(3_000), /nesting/],
  ] as const)
    assert.throws(() => accepts(readLanguage(regex(pattern), few), text), limit, pattern.slice(0, 50));
});
