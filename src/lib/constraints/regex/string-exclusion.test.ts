import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Automaton } from "./automaton.ts";
import { jsonSpelling } from "./characters/spelling.ts";
import { Expressions } from "./expressions.ts";
import type { Expression } from "./expressions.ts";
import { defaultGrammarLimits, StepBudget } from "./limits.ts";
import { searching } from "../../../base/domain/testing/search.ts";

const characters = ["a", "b", "5", "\u{5}", '"', "\\", "/", "\n", "é", "\u{e9}5", "ࠀ", "😀", "😁"];
const text = fc.array(fc.constantFrom(...characters), { maxLength: 3 }).map((parts) => parts.join(""));

function fresh() {
  const budget = new StepBudget(defaultGrammarLimits);
  const expressions = new Expressions(defaultGrammarLimits, budget);
  const automaton = new Automaton(expressions, defaultGrammarLimits, budget);
  return { expressions, automaton, body: expressions.repeat(jsonSpelling(expressions).character, 0) };
}

/** Returns a random JSON spelling of the string. */
function written(of: string, draws: readonly number[]): string {
  const unit = (one: string, isUpper: boolean): string => {
    const digits = one.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${isUpper ? digits.toUpperCase() : digits}`;
  };
  const plain = (one: string): string => JSON.stringify(one).slice(1, -1);
  return Array.from(of, (one, index) => {
    const draw = draws[index % draws.length];
    if (one === "/" && draw === 2) return "\\/";
    return draw === 0 || draw === 1
      ? Array.from({ length: one.length }, (_, at) => unit(one[at], draw === 1)).join("")
      : plain(one);
  }).join("");
}

test("accepts a string's body only if JSON.parse reads none of the excluded texts from it", () => {
  const draws = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 });
  const names = fc.uniqueArray(text, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(names, fc.array(fc.tuple(text, draws), { maxLength: 20 }), draws, (listed, tried, how) => {
      const { expressions, automaton, body } = fresh();
      const unlisted = expressions.unlisted(body, listed);
      const bodies = [
        ...tried.map(([one, ways]) => written(one, ways)),
        ...listed.map((one) => written(one, how)),
      ];
      for (const one of bodies) {
        const says: unknown = JSON.parse(`"${one}"`);
        const bytes = new TextEncoder().encode(one);
        assert.equal(automaton.matches(unlisted, bytes), !listed.includes(String(says)), one);
      }
    }),
    searching(60),
  );
});

test("equals the intersection with the complement of all spellings, in each state", () => {
  const { expressions, automaton, body } = fresh();
  const spelling = jsonSpelling(expressions);
  const spelled = (of: string): Expression =>
    expressions.sequence(...Array.from(of, (one) => spelling.spell([present(one), present(one)])));
  const listed = ["", "a", "ab", "a/", "é", "😀5", "\n"];
  const unlisted = expressions.unlisted(body, listed);
  const others = expressions.and(body, expressions.not(expressions.or(...listed.map(spelled))));
  // Checks both directions: neither language contains a text that the other lacks.
  assert.ok(automaton.isEmpty(expressions.and(unlisted, expressions.not(others))));
  assert.ok(automaton.isEmpty(expressions.and(others, expressions.not(unlisted))));
});

test("a lone surrogate in the list excludes no string", () => {
  const { expressions, body } = fresh();
  assert.equal(expressions.unlisted(body, ["\ud83d"]), body);
});

const present = (one: string): number => one.codePointAt(0) ?? 0;
