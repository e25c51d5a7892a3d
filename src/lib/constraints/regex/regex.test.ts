import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Constraint } from "../../../base/domain/constraint.ts";
import { readLanguage } from "../grammar/language.ts";
import { accepts } from "../grammar/testing/accepts.ts";
import type { Language } from "../grammar/language.ts";
import { allCharacters, pointsOf, rangesOf, unionPoints } from "./characters/code-points.ts";
import { inEitherCase } from "./characters/letter-case.ts";
import { ConstraintRefusal, defaultGrammarLimits, StepBudget } from "./limits.ts";
import { checkRefusal } from "./testing/check-refusal.ts";
import { patternsWithTexts } from "./testing/random-patterns.ts";
import { unicodeProperty } from "./characters/unicode-property.ts";
import { jsonSchema, regex } from "../grammar/testing/make-constraints.ts";
import { searchCount, searchedOf, searching } from "../../../base/domain/testing/search.ts";

const limits = defaultGrammarLimits;

/** Returns null for a pattern that no text matches, and undefined for a pattern that exceeds the limits. */
function readOrRefuse(constraint: Constraint): Language | null | undefined {
  try {
    return readLanguage(constraint, limits);
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
      const language = readOrRefuse(regex(flags === "" ? pattern : `(?${flags}:${pattern})`));
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
    searching(200),
  );
  assert.ok(servedCount > searchCount(190), `${servedCount} patterns`);
  assert.ok(matchCount > textCount / 4 && matchCount < (textCount * 3) / 4, `${matchCount} of ${textCount}`);
});

const pieces =
  "a b - [ab] [^a]? \\w+ \\W* .* (?:a|-b)? (?:|b){0,2} \\b \\B (?<=a) (?<![b-]) (?<=a|\\n) (?<!^) ^ $"
    .concat(" (?=a) (?!-) (?:\\b|a) (?=.\\b) (?:^|-) (?:b$)? \\n")
    .split(" ");

test("resolves assertions before and after a position as JavaScript's engine does", () => {
  const patterns = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 });
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "-", "\n"), maxLength: 5 }), {
    minLength: 6,
  });
  let matchCount = 0;
  fc.assert(
    fc.property(patterns, fc.constantFrom("", "m", "s", "i"), texts, (parts, flags, all) => {
      const pattern = parts.join("");
      const whole = new RegExp(`^(?:${pattern})$(?![^])`, `u${flags.replace("m", "")}`);
      // With the flag m, `^` and `$` match at line ends, so the ends of the whole text need other assertions.
      const expected = flags === "m" ? new RegExp(`(?<![^])(?:${pattern})(?![^])`, "um") : whole;
      const flagged = flags === "" ? pattern : `(?${flags})${pattern}`;
      const language = readOrRefuse(regex(flagged));
      for (const text of all) {
        const isMatch = expected.test(text);
        const accepted: boolean = language ? accepts(language, text) : false;
        assert.equal(accepted, isMatch, JSON.stringify({ flagged, text }));
        matchCount += isMatch ? 1 : 0;
      }
      const anywhere = new RegExp(pattern, `u${flags}`);
      const schema = readOrRefuse(jsonSchema({ type: "string", pattern: flagged }));
      for (const text of all) {
        const accepted: boolean = schema ? accepts(schema, JSON.stringify(text)) : false;
        assert.equal(accepted, anywhere.test(text), `${flagged} in ${text}`);
      }
    }),
    searching(80),
  );
  assert.ok(matchCount > searchCount(20), `${matchCount} matches`);
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

test("resolves anchors and look-aheads", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...assertions),
      fc.string({ unit: fc.constantFrom("a", "b", "x"), maxLength: 5 }),
      ([pattern], text) => {
        const expected = new RegExp(`^(?:${pattern})$`, "u").test(text);
        assert.equal(matches(pattern, text), expected, JSON.stringify({ pattern, text }));
      },
    ),
    searching(200),
  );
});

test("reads dashes, braces and escaped punctuation as browsers do", () => {
  for (const [pattern, text] of [
    ["[\\w-.]", "-"],
    ["a{,2}", "a{,2}"],
    ["\\-\\_\\%", "-_%"],
    ["[^]", "\n"],
    ["(?<year>\\d+)", "12"],
    ["\\p{Lu}\\p{Script=Greek}", "Äω"],
    ["\\cJ", "\n"],
    ["(?i:straße)(?s:.)", "STRAẞE\n"],
    ["(?i)yes|no", "NO"],
    ["(?is)a.", "A\n"],
    ["(?u)(?:a(?m:$\n^)b)", "a\nb"],
    ["\\Ayes\\z|\\Ano\\Z", "no"],
    ["\\p{sc=Latin}\\p{gc=Nd}\\p{scx=Grek}", "é7ω"],
    ["(?s:a(?-s:.)).", "abc"],
  ])
    assert.ok(matches(pattern, text), pattern);
  assert.ok(!matches("\\p{Lu}", "a"));
  assert.ok(!matches("(?s:a(?-s:.)).", "a\nc"));
});

test("refuses syntax that it cannot express, with its position", () => {
  for (const [pattern, kind, subject, place] of [
    ["(a)\\1", "not-exact", "a back reference", "position 3"],
    ["a(?<=ab)", "not-exact", "a look-behind of more than one character", "position 1"],
    ["(?<!a(?=b))b", "not-exact", "a look-behind of more than one character", "position 0"],
    ["[a[:alpha:]]", "not-exact", "the POSIX class [:alpha:]", "position 2"],
    ["\\p{Nothing}", "not-exact", "the property Nothing", "position 0"],
    ["a++", "not-exact", "a possessive quantifier", "position 2"],
    ["a(?i)b", "not-exact", "a group with flags", "position 1"],
    ["(?x)a b", "not-exact", "a group with flags", "position 0"],
    ["\\G", "not-exact", "the escape \\G", "position 0"],
    ["a(?:^b|x)*", "not-exact", "a repeated assertion", ""],
    ["(a", "malformed", "an unclosed group", "position 0"],
    ["a)", "malformed", "an unmatched )", "position 1"],
    ["[b-a]", "malformed", "a range whose ends are out of order", "position 2"],
    ["\\c1", "malformed", "an incomplete escape", "position 0"],
    ["[a", "malformed", "an unclosed class", "position 0"],
    ["*a", "malformed", "nothing to repeat", "position 0"],
    ["a{3,2}", "malformed", "a quantifier whose bounds are out of order", "position 1"],
    ["a{20000}", "not-exact", "a quantifier of more than 10000 repetitions", "position 1"],
    [`${"(".repeat(300)}a${")".repeat(300)}`, "limit", "nesting", ""],
    ["a(?!.*)", "unsatisfiable", "regex", ""],
  ] as const)
    checkRefusal(() => readLanguage(regex(pattern), limits), [kind, subject, place], pattern);
});

test("refuses hostile patterns because they exceed a limit", () => {
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

const properties = "L Lu Cn Co Nd Any ASCII Alphabetic ID_Continue Emoji Ideographic"
  .concat(" Default_Ignorable_Code_Point Noncharacter_Code_Point Assigned sc=Han scx=Latin sc=Zzzz")
  .split(" ");

test("finds all characters that have a property", () => {
  const budget = new StepBudget({ ...limits, compileSteps: 1_000_000 });
  for (const name of searchedOf(properties, 5)) {
    const expected = new RegExp(`^\\p{${name}}$`, "u");
    const set = unicodeProperty(name, budget) ?? [];
    for (const [index, low] of set.entries())
      if (index % 2 === 0) assert.ok(low <= set[index + 1] && low > (set[index - 1] ?? -2) + 1, name);
    const isIn = new Uint8Array(0x110000);
    for (const [low, high] of rangesOf(set)) isIn.fill(1, low, high + 1);
    for (const [low, high] of rangesOf(allCharacters)) {
      for (let point = low; point <= high; point++) {
        if (expected.test(String.fromCodePoint(point)) !== (isIn[point] === 1))
          assert.fail(`${name}, ${point.toString(16)}`);
      }
    }
  }
});

test("spends the same steps on a property, no matter what earlier requests used", () => {
  const names = "Arab Armn Beng Bopo Cyrl Deva Ethi Geor Grek Gujr Guru Hang"
    .concat(" Hani Hebr Hira Kana Khmr Knda Laoo Latn Mlym Mong Mymr Orya")
    .split(" ")
    .flatMap((script) => ["sc", "Script", "scx", "Script_Extensions"].map((key) => `${key}=${script}`));
  for (const name of names) assert.ok(accepts(readLanguage(regex(`\\P{${name}}`), limits), "1"), name);
  const many = names.map((name) => `\\p{${name}}`).join("");
  for (let time = 0; time < 2; time++)
    assert.throws(() => readLanguage(regex(many), limits), /compileSteps/, "the price counts, found or not");
});

test("spends the steps for a pattern's length before it parses the pattern", () => {
  const few = { ...limits, compileSteps: 5_000 };
  for (const pattern of ["a".repeat(30_000), `[${"ab".repeat(15_000)}]`, "(".repeat(30_000)])
    assert.throws(() => readLanguage(regex(pattern), few), /compileSteps/);
});

test("finds the letters that differ only in case", () => {
  const cased = Array.from({ length: 0x1e944 }, (_, point) => point)
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point))
    .filter((letter) => letter.toLowerCase() !== letter || letter.toUpperCase() !== letter);
  const text = cased.join("");
  const budget = new StepBudget({ ...limits, compileSteps: 1_000_000 });
  // Each search for a letter examines all letters. So this checks all letters of the first Unicode blocks, but only
  // every seventh of the others.
  for (const letter of cased.filter((one, index) => index % 7 === 0 || one < "\u0250")) {
    const expected = text.match(new RegExp(letter, "giu"))?.join("") ?? letter;
    const found = inEitherCase(pointsOf(letter), budget);
    assert.deepEqual(unionPoints(found), pointsOf(expected), letter);
  }
});
