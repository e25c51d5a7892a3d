import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { ConstraintRefusal, defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import type { Language } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import { grammar } from "../testing/make-constraints.ts";
import { prefixGrammar, gbnfOf, matchable, matchesOf, plainGrammars } from "../testing/naive-grammar.ts";
import { idsOf } from "../testing/try-every-token.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";
import { deadParser } from "./machine.ts";
import { searchCount, searching } from "../../../../base/domain/testing/search.ts";

const read = (text: string): Language => readLanguage(grammar(text), defaultGrammarLimits);

/** Returns all texts over `a` and `b` with this many characters. */
const textsOf = (length: number): readonly string[] =>
  Array.from({ length: 2 ** length }, (_, number) =>
    number.toString(2).padStart(length, "0").replaceAll("0", "a").replaceAll("1", "b"),
  );

/**
 * For each position of the text, returns whether the text may end there, and whether the part before it is a valid
 * prefix.
 */
function placesOf({ machine, start }: Language, text: string): readonly (readonly [boolean, boolean])[] {
  const states = [start];
  for (const byte of new TextEncoder().encode(text)) states.push(machine.next(states.at(-1) ?? start, byte));
  return states.map((state) => [machine.threads(state).mayEnd, state !== deadParser]);
}

/** Returns null if the computation exceeds a limit. */
function withinLimits<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch (error) {
    if (error instanceof ConstraintRefusal && error.kind === "limit") return null;
    throw error;
  }
}

test("accepts the same texts and prefixes of random grammars as a search that tries each rule at each position", () => {
  let [served, ended, costly] = [0, 0, 0];
  for (const random of fc.sample(plainGrammars, searching(50))) {
    const plain = matchable(random);
    if (plain[0].length === 0) {
      assert.throws(() => read(gbnfOf(random)), ConstraintRefusal);
      continue;
    }
    served += 1;
    const language = read(gbnfOf(random));
    const begun = prefixGrammar(plain);
    for (const text of textsOf(6)) {
      language.budget.restart("compileSteps");
      const whole = matchesOf(plain, 0, text);
      const viable = matchesOf(begun, plain.length, text);
      ended += whole.filter(Boolean).length;
      const places = withinLimits(() => placesOf(language, text));
      if (places === null) {
        costly += 1;
        break;
      }
      assert.deepEqual(
        places,
        whole.map((mayEnd, place) => [mayEnd, viable[place]]),
        `${gbnfOf(random)}\n${text}`,
      );
    }
  }
  assert.ok(served > searchCount(20) && ended > searchCount(1_200), `${served} served, ${ended} texts ended`);
  // Few random grammars are so ambiguous that they exceed a limit.
  assert.ok(costly <= searchCount(1), `${costly} too costly`);
});

const endless = [
  ["e ::= e [+*/-] e | [a-z]", "a+b*", "c"],
  ['e ::= e [+*/-] e | "(" e ")" | [a-z]', "a+b*(c-d)+", "c"],
  ['e ::= e "+" e | "f(" l ")" | [a-z]+\nl ::= l "," l | e', "f(a+b,ccc+dd)+", "c"],
  ['e ::= e e e | "x"', "xx", "x"],
  ['e ::= e e | "a"', "a", ""],
  ['e ::= e e | "a" | ""', "a", ""],
  ['e ::= e e | "a" e | e "a" | "a" | e | ""', "a", ""],
  ['e ::= b? e "x" | "y"\nb ::= "(" b ")" | ""', "", `((()))(())y${"x".repeat(4_096)}`],
  ['e ::= f "x" | "y"\nf ::= g e | "z"\ng ::= "w" g | ""', "", `y${"x".repeat(4_096)}`],
  [
    'e ::= e ";" e | "if " t " then " e | "if " t " then " e " else " e | [a-z]\nt ::= t "<" t | [a-z]',
    "if a<b then c else d;",
    "e",
  ],
] as const;

test("reuses known states for texts of any length under ambiguous grammars", () => {
  for (const [rules, repeated, last] of endless) {
    const language = read(`root ::= e\n${rules}`);
    const compiled = new CompiledConstraint(language, vocabularyOf(["aa", "+b", "xx", ")+"]));
    const mask = new Uint32Array(compiled.maskWords);
    const matcher = compiled.matcher();
    const text = repeated.repeat(repeated === "" ? 0 : Math.ceil(4_096 / repeated.length)) + last;
    const lengths: number[] = [];
    for (const [index, byte] of new TextEncoder().encode(text).entries()) {
      matcher.mask(mask);
      const token = idsOf(mask).find((id) => compiled.trie.bytesOf[id]?.join() === String(byte));
      assert.ok(token !== undefined && matcher.accept(token), `${rules} at ${index}`);
      if ((index + 1) % 512 === 0) lengths.push(compiled.byteLength);
    }
    assert.ok(matcher.mayEnd, rules);
    assert.equal(lengths.at(-1), lengths[0], `${rules}: ${lengths.join(", ")}`);
  }
});

test("enforces the nesting depth exactly", () => {
  const deep = 500;
  for (const [rules, text, isWhole] of [
    ['e ::= e "+" e | "(" e ")" | "a"', `${"(".repeat(deep)}a${"+a)".repeat(deep)}`, true],
    ['e ::= e "+" e | "(" e ")" | "a"', `${"(".repeat(deep)}a${")".repeat(deep + 1)}`, false],
    ['e ::= "i" e | "i" e "e" e | "x"', `${"i".repeat(deep)}x${"ex".repeat(deep)}`, true],
    ['e ::= "i" e | "i" e "e" e | "x"', `${"i".repeat(deep)}x${"ex".repeat(deep + 1)}`, false],
    ['e ::= b? e "x" | "y"\nb ::= "(" b ")" | "z"', `${"z".repeat(60)}y${"x".repeat(60)}`, true],
    ['e ::= b? e "x" | "y"\nb ::= "(" b ")" | "z"', `${"z".repeat(60)}y${"x".repeat(59)}`, false],
  ] as const) {
    const language = read(`root ::= e\n${rules}`);
    language.budget.restart("compileSteps", 20);
    const [mayEnd] = placesOf(language, text).at(-1) ?? [];
    assert.equal(mayEnd, isWhole, `${rules}\n${text.slice(0, 20)}`);
  }
});
