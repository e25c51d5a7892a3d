// The base that all constraints share: expressions that match JSON texts, and the lexer's states for these expressions.
// Each thread computes it once. Compiling a constraint then takes time only for expressions and states that are not in
// the base.
import type { ExactJson } from "../../../base/domain/text/exact-json.ts";
import { unlimitedGrammar, StepBudget } from "../regex/limits.ts";
import { Automaton } from "../regex/automaton.ts";
import { jsonSpelling, plainSpelling } from "../regex/characters/spelling.ts";
import { digits, wordCharacters } from "../regex/characters/code-points.ts";
import { Expressions } from "../regex/expressions.ts";
import { readJsonSchema } from "./schema/json-schema.ts";
import { Machine } from "./parser/machine.ts";
import { Recalls } from "./parser/recalls.ts";
import { Rules } from "./parser/rules.ts";
import { Notices } from "./notices.ts";
import { HarmlessSteps } from "./trie/harmless-text.ts";

/** Shared expressions and states. They count towards no constraint's limits. */
export interface ConstraintBase {
  readonly expressions: Expressions;
  /** Contains all states reachable from its states, so no constraint has to add states to it. */
  readonly automaton: Automaton;
  readonly steps: HarmlessSteps;
}

let known: ConstraintBase | null = null;

/** Returns the base, built on the first call. */
export function constraintBase(): ConstraintBase {
  return (known ??= buildBase());
}

/** Sample document with each kind of JSON value in each position, and an escape. */
const sample = '{ "a" : [ 0 , -1.5e+3 , "\\u00e9" , true , false , null , [ ] , { } ] , "b" : "" }';
const compact = sample.replaceAll(" ", "");

const schemas: readonly ExactJson[] = [
  {},
  { type: "object", additionalProperties: { type: "integer" } },
  { type: "object", additionalProperties: { type: "number" } },
  { type: "array", items: { type: "string" } },
];

function buildBase(): ConstraintBase {
  const limits = unlimitedGrammar;
  const budget = new StepBudget(limits);
  const expressions = new Expressions(limits, budget);
  const automaton = new Automaton(expressions, limits, budget);
  automaton.start(expressions.repeat(plainSpelling(expressions).character, 0));
  const spelling = jsonSpelling(expressions);
  for (let point = 0x20; point < 0x7f; point++) spelling.spell([point, point]);
  for (const set of [digits, wordCharacters, [0x41, 0x5a], [0x61, 0x7a]]) spelling.spell(set);
  const read = (schema: ExactJson, allowsAnyWhitespace: boolean) => {
    const rules = new Rules(limits);
    const recalls = new Recalls(rules);
    const compilation = { limits, budget, expressions, automaton, rules, recalls, notices: new Notices() };
    const options = { allowsAnyWhitespace, whitespacePattern: null, allowsAdditionalProperties: true };
    const { symbol } = readJsonSchema(schema, options, compilation);
    return { machine: new Machine({ automaton, rules, recalls }, limits, budget), symbol };
  };
  for (const schema of schemas)
    for (const text of [sample, compact]) {
      const { machine, symbol } = read(schema, text === sample);
      new TextEncoder()
        .encode(text)
        .reduce((state, byte) => machine.next(state, byte), machine.start([symbol]));
    }
  // Formats have many states, so only their expressions are part of the base.
  for (const format of ["date-time", "date", "time", "email", "uri", "uuid", "ipv4", "hostname"])
    read({ type: "string", format }, true);
  automaton.complete();
  expressions.complete();
  return { expressions, automaton, steps: new HarmlessSteps(automaton) };
}
