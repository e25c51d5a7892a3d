import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { defaultGrammarLimits, StepBudget } from "./limits.ts";
import { Automaton } from "./automaton.ts";
import { jsonSpelling, plainSpelling } from "./characters/spelling.ts";
import { complementPoints, pointsOf } from "./characters/code-points.ts";
import { Expressions, nothing } from "./expressions.ts";
import { wholeMatch } from "./compile-pattern.ts";
import { commonMultiple, completionOf, multipleOf } from "./multiple.ts";
import { parsePattern } from "./parse-pattern.ts";
import { searching } from "../../../base/domain/testing/search.ts";

const encoder = new TextEncoder();

function fresh(limits = defaultGrammarLimits) {
  const budget = new StepBudget(limits);
  const expressions = new Expressions(limits, budget);
  const automaton = new Automaton(expressions, limits, budget);
  const read = (pattern: string) =>
    wholeMatch(
      { expressions, spelling: plainSpelling(expressions), place: "" },
      parsePattern(pattern, { limits, budget }),
    );
  return { expressions, automaton, read };
}

test("intersections and complements match exactly the texts they should", () => {
  const { expressions, automaton, read } = fresh();
  const patterns = ["a*b?", "(ab)*", "[ab]{2,3}", "a.*b", "", ".*aa.*"];
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.constantFrom(...patterns),
      fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 }),
      (one, other, text) => {
        const both = expressions.and(read(one), expressions.not(read(other)));
        const expected = new RegExp(`^(?:${one})$`).test(text) && !new RegExp(`^(?:${other})$`).test(text);
        assert.equal(automaton.matches(both, encoder.encode(text)), expected);
      },
    ),
    searching(300),
  );
});

test("a list of texts equals the union of its texts, also inside unions and complements", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), maxLength: 5 });
  const lists = fc.uniqueArray(text, { minLength: 32, maxLength: 60 });
  fc.assert(
    fc.property(lists, lists, fc.array(text, { minLength: 20, maxLength: 20 }), (one, other, more) => {
      const { expressions, automaton } = fresh();
      const [first, second] = [expressions.anyText(one), expressions.anyText(other)];
      assert.equal(expressions.anyText([...one, ...one.toReversed()]), first);
      const onlyFirst = expressions.and(first, expressions.not(second));
      const either = expressions.or(first, second);
      for (const tried of [...one.slice(0, 20), ...more]) {
        const bytes = encoder.encode(tried);
        const [inOne, inOther] = [one.includes(tried), other.includes(tried)];
        assert.equal(automaton.matches(first, bytes), inOne);
        assert.equal(automaton.matches(either, bytes), inOne || inOther);
        assert.equal(automaton.matches(onlyFirst, bytes), inOne && !inOther);
      }
      const hasOnlyFirst = one.some((value) => !other.includes(value));
      assert.equal(automaton.isEmpty(onlyFirst), !hasOnlyFirst);
    }),
    searching(20),
  );
});

test("recognizes an empty intersection", () => {
  const { expressions, automaton, read } = fresh();
  const both = (one: string, other: string) => expressions.and(read(one), read(other));
  assert.ok(automaton.isEmpty(both("(aa)*a", "(aa)*")));
  assert.ok(automaton.isEmpty(both("[a-z]{3}", ".{5,}")));
  assert.ok(!automaton.isEmpty(both("(aa)*a", "(aaa)*")));
  assert.equal(automaton.start(both("(aa)*a", "(aa)*")), 0);
});

test("finds a match that needs an escape or a character outside ASCII", () => {
  const { expressions, automaton, read } = fresh();
  const any = expressions.repeat(read("[^]"), 0);
  for (const pattern of ["\\\\a", "é+", "(?:x\\\\|ü)*yé"]) {
    const unknown = expressions.and(read(pattern), any);
    assert.ok(!automaton.isEmpty(unknown), pattern);
    assert.ok(automaton.isEmpty(expressions.and(unknown, read("[a-z]*"))), pattern);
  }
});

test("finds a long match of an intersection in a few steps per character", () => {
  const { expressions, automaton, read } = fresh({ ...defaultGrammarLimits, compileSteps: 5_000 });
  const all = expressions.and(
    ...["[^]{300,}", "(?:[a-z][0-9])*", "[^]*(?:[uv]|7){6}", "(?:b2[^]{3,5}){4}[^]*", "[^]*x[0-3][^]*"].map(
      read,
    ),
  );
  assert.ok(!automaton.isEmpty(all));
});

test("puts bytes into different classes only if the expression distinguishes them", () => {
  const { expressions, read } = fresh();
  const firsts = (pattern: string) =>
    expressions.classes(read(pattern)).firsts.map((byte) => String.fromCharCode(byte));
  assert.deepEqual(firsts("[a-f]x"), ["\0", "a"]);
  assert.deepEqual(firsts("[a-f]?x"), ["\0", "a", "x"]);
  assert.deepEqual(firsts("[a-f]y|[d-h]z"), ["\0", "a", "d", "g"]);
  assert.deepEqual(firsts(""), ["\0"]);
});

test("recognizes an empty intersection without a search", () => {
  const { expressions, read } = fresh();
  const [one, other] = [read("a.*b"), read("(ab)*")];
  const ruledOut = expressions.not(expressions.and(one, other));
  assert.equal(expressions.and(one, other, ruledOut), nothing);
  assert.equal(expressions.and(one, ruledOut), expressions.and(one, expressions.not(other)));
});

test("an intersection of multiples of several numbers becomes multiples of one number", () => {
  const { expressions } = fresh();
  const of = (divisor: number, remainder = 0, scale = 0) =>
    expressions.multiple({ ...multipleOf(divisor, scale), remainder });
  assert.equal(expressions.and(of(4), of(6), of(9)), of(36));
  assert.equal(expressions.and(of(4, 3), of(6, 5)), of(12, 11));
  assert.equal(expressions.and(of(10), expressions.not(of(5))), nothing);
  assert.equal(expressions.and(of(10, 7), expressions.not(of(5, 2))), nothing);
  // In these pairs, neither condition follows from the other, so the intersection is neither empty nor redundant.
  assert.notEqual(expressions.and(of(10, 7), expressions.not(of(5, 3))), nothing);
  assert.notEqual(expressions.and(of(5), expressions.not(of(10))), nothing);
  assert.notEqual(expressions.and(of(5), of(5, 0, 1)), of(5));
  const short = (divisor: number) =>
    expressions.multiple({ ...multipleOf(divisor, 0), remainder: 1, digitsLeft: 1 });
  assert.equal(expressions.and(short(3), short(7)), nothing, "no digit makes a multiple of 21");
});

test("the common multiple of two states equals the result of trying all numbers", () => {
  const divisors = fc.integer({ min: 1, max: 400 });
  fc.assert(
    fc.property(divisors, divisors, fc.nat(), fc.nat(), (one, other, first, second) => {
      const [left, right] = [first % one, second % other];
      const tried = Array.from({ length: other }, (_, count) => left + count * one);
      const found = commonMultiple(
        { ...multipleOf(one, 0), remainder: left },
        { ...multipleOf(other, 0), remainder: right },
      );
      assert.equal(
        found?.remainder,
        tried.find((number) => number % other === right),
      );
      if (found !== null) assert.ok(found.divisor % one === 0 && found.divisor % other === 0);
    }),
    searching(500),
  );
});

test("equal expressions have the same number", () => {
  const { expressions, read } = fresh();
  assert.equal(read("a|b|c"), read("[a-c]"));
  assert.equal(read("(?:a|b)|c"), read("c|(?:b|a)"));
  assert.equal(expressions.not(expressions.not(read("ab"))), read("ab"));
  assert.equal(expressions.and(read("a"), read("b")), nothing);
});

test("encodes a character class as UTF-8", () => {
  const { expressions, automaton } = fresh();
  const spelling = plainSpelling(expressions);
  const set = [0x61, 0x7f, 0x80, 0x7ff, 0xffe0, 0x10010];
  const inside = spelling.spell(set);
  for (const point of [
    0x60, 0x61, 0x80, 0x7ff, 0x800, 0xffdf, 0xffe0, 0xffff, 0x10000, 0x10010, 0x10011, 0x10ffff,
  ]) {
    const text = encoder.encode(String.fromCodePoint(point));
    const isInside = [0, 1, 2].some((range) => point >= set[range * 2] && point <= set[range * 2 + 1]);
    assert.equal(automaton.matches(inside, text), isInside, point.toString(16));
    assert.ok(automaton.matches(spelling.character, text));
  }
  assert.ok(
    !automaton.matches(spelling.character, Uint8Array.of(0xed, 0xa0, 0x80)),
    "a surrogate is no character",
  );
  assert.ok(
    !automaton.matches(spelling.character, Uint8Array.of(0xc0, 0x80)),
    "an overlong form is no character",
  );
});

test("encodes a JSON string's character with all its escapes", () => {
  const { expressions, automaton } = fresh();
  const spelling = jsonSpelling(expressions);
  const holds = (set: readonly number[], text: string) =>
    automaton.matches(spelling.spell(set), encoder.encode(text));
  for (const text of ["/", "\\/", "\\u002f", "\\u002F"]) assert.ok(holds(pointsOf("/"), text), text);
  for (const text of ["\\ud83d\\ude00", "\\uD83D\\uDE00", "😀"]) assert.ok(holds(pointsOf("😀"), text), text);
  for (const text of ['"', "\\", "\n", "\\ud83d", "\\a", "\\u12"])
    assert.ok(!holds([0, 0x10ffff], text), text);
  for (const text of ["\\n", "\\u000a"]) assert.ok(!holds(complementPoints(pointsOf("\n")), text), text);
});

test("tracks the remainder of the digits read", () => {
  const { expressions, automaton } = fresh();
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 0, max: 99_999 }),
      (divisor, scale, hundredths) => {
        const expression = expressions.multiple(multipleOf(divisor, scale));
        const text = (hundredths / 100).toFixed(2);
        assert.equal(
          automaton.matches(expression, encoder.encode(text)),
          (hundredths * 10 ** scale) % (divisor * 100) === 0,
          text,
        );
      },
    ),
    searching(100),
  );
});

test("rejects a multiple as soon as too few digits are left to complete it", () => {
  const { expressions, automaton } = fresh();
  const seconds = expressions.multiple(multipleOf(86_400, 0));
  const after = (text: string) =>
    encoder.encode(text).reduce((left, byte) => expressions.derivative(left, byte), seconds);
  assert.ok(automaton.matches(seconds, encoder.encode("123456787286400")));
  assert.notEqual(after("1234567872864"), nothing);
  assert.equal(after("1234567872865"), nothing);
  assert.equal(completionOf({ ...multipleOf(86_400, 0), remainder: 1 }), "72800");
  assert.equal(completionOf({ ...multipleOf(25, 2), remainder: 3, digitsLeft: 2 }), "");
  assert.equal(completionOf({ ...multipleOf(350, 2), remainder: 1, digitsLeft: 1 }), "4");
  assert.equal(completionOf({ ...multipleOf(101, 2), remainder: 1, digitsLeft: 1 }), null);
  assert.equal(completionOf({ ...multipleOf(101, 2), remainder: 10, fractionDigits: 1 }), "1");
});
