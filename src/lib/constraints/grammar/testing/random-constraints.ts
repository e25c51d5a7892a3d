// Small random constraints of all kinds. They use few characters, so that tokens and constraints often interact.
import * as fc from "fast-check";
import type { Constraint } from "../../../../base/domain/constraint.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";
import { choice, grammar, jsonSchema, regex, structuralTag } from "./make-constraints.ts";
import { schemas } from "./random-schemas.ts";
import { structuralTags } from "./random-tags.ts";

const formats = "date-time date time duration email hostname ipv4 ipv6 uri uuid byte".split(" ");

/** Realistic string schemas: formats, lengths and patterns that one token may or may not satisfy. */
const strings: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(...formats).map((format) => ({ type: "string", format })),
  fc
    .tuple(fc.nat(24), fc.nat(40))
    .map(([minLength, more]) => ({ type: "string", minLength, maxLength: minLength + more })),
  fc
    .constantFrom("^[a-z0-9-]{1,20}$", "^[A-Z]", "^\\w+( \\w+)*$", "[^é ]{3}", "^.{4}:", "\\\\")
    .map((pattern) => ({ type: "string", pattern })),
  fc
    .tuple(
      fc.constantFrom("^[a-z]+( [a-z]+)*$", "^\\S", "\\d$", "^(?!.*ab)", "^(a|b{9}|é)*$"),
      fc.nat(2),
      fc.nat(200),
    )
    .map(([pattern, minLength, more]) => ({
      type: "string",
      pattern,
      minLength,
      maxLength: minLength + more,
    })),
);

/** Schemas of any kind, and objects of realistic strings that may have undeclared properties. */
export const randomSchemas: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: schemas },
  {
    weight: 1,
    arbitrary: fc.tuple(strings, strings, fc.boolean()).map(([name, items, additionalProperties]) => ({
      type: "object",
      properties: { name, tags: { type: "array", items, maxItems: 3 }, count: { type: "integer" } },
      required: ["name"],
      additionalProperties,
    })),
  },
);

const atoms = 'a b c 1 é " \\{ [ab] [^a] [a-z0-9_] \\d \\w \\s . [é-ü😀] (?:ab|c) (?:a|b1)'.split(" ");
const quantifiers = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{3,}", "{14,30}"];
const sequences = fc
  .array(fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...quantifiers)), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.flat().join(""));
const patterns = fc
  .tuple(fc.constantFrom("", "", "(?=.*b)", "(?!ab)"), fc.array(sequences, { minLength: 1, maxLength: 3 }))
  .map(([ahead, alternatives]) => ahead + (ahead === "" ? alternatives.join("|") : alternatives.join("")));

const pieces = ["a", "b", "ab", " ", "1", "é", '{"', '":', '"}', ","];
const choices = fc.array(fc.array(fc.constantFrom(...pieces), { maxLength: 5 }), {
  minLength: 1,
  maxLength: 6,
});

const symbols = ['"a"', '"b"', '"ab"', '"{"', '"}"', "[a-c1]", '[^"]', '"\\""', "one", "two", "(one | two)*"];
const alternatives = fc
  .array(fc.array(fc.constantFrom(...symbols), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((options) => options.map((option) => option.join(" ")).join(" | "));
const grammars = fc
  .tuple(alternatives, alternatives, alternatives)
  .map(([root, one, two]) => `root ::= ${root}\none ::= "a" | ${one}\ntwo ::= "1" | ${two}`);

export const randomConstraints: fc.Arbitrary<Constraint> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(randomSchemas, fc.boolean())
      .map(([schema, allowsAnyWhitespace]) => jsonSchema(schema, { allowsAnyWhitespace })),
  },
  { weight: 1, arbitrary: patterns.map(regex) },
  {
    weight: 1,
    arbitrary: choices.map((texts) => choice(...new Set(texts.map((parts) => parts.join(""))))),
  },
  { weight: 1, arbitrary: grammars.map(grammar) },
  { weight: 1, arbitrary: structuralTags.map((tag) => structuralTag(tag)) },
);

/**
 * Runs a check on random values, and skips values that are refused.
 *
 * @throws ConstraintRefusal if more than half of the values are refused
 */
export function checkServed<T>(
  arbitrary: fc.Arbitrary<T>,
  { seed, count }: { readonly seed: number; readonly count: number },
  check: (value: T) => void,
): void {
  let [served, refused] = [0, 0];
  for (const value of fc.sample(arbitrary, { seed, numRuns: count * 2 })) {
    if (served === count) return;
    try {
      check(value);
      served += 1;
    } catch (error) {
      refused += 1;
      if (!(error instanceof ConstraintRefusal) || refused > count) throw error;
    }
  }
}
