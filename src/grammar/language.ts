// The texts that a constraint allows, as a parser that any tokenizer's masks can be made from. Knows no tokens.
import type { Constraint } from "../domain/constraint.ts";
import { unreachable } from "../domain/assert.ts";
import { ConstraintRefusal, limitExceeded, StepBudget } from "./limits.ts";
import type { GrammarLimits } from "./limits.ts";
import { deadParser, Machine } from "./parser/machine.ts";
import type { ParserState } from "./parser/machine.ts";
import { Rules, terminal } from "./parser/rules.ts";
import type { Production } from "./parser/rules.ts";
import { Automaton } from "./regex/automaton.ts";
import { plainSpelling } from "./regex/characters.ts";
import { Expressions } from "./regex/expressions.ts";
import type { Expression } from "./regex/expressions.ts";
import { wholeMatch } from "./regex/express-pattern.ts";
import { parsePattern } from "./regex/parse-pattern.ts";

/** What a language is built with: one set of expressions, states and rules, under one budget. */
export interface Workshop {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  readonly expressions: Expressions;
  readonly automaton: Automaton;
  readonly rules: Rules;
}

export interface Language {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  readonly machine: Machine;
  /** The state before the first byte. */
  readonly start: ParserState;
}

/**
 * Reads a constraint.
 *
 * @throws ConstraintRefusal for one that is malformed, cannot be expressed exactly, allows no text or exceeds a limit
 */
export function readLanguage(constraint: Constraint, limits: GrammarLimits): Language {
  const budget = new StepBudget(limits);
  const expressions = new Expressions(limits, budget);
  const automaton = new Automaton(expressions, limits, budget);
  const rules = new Rules(limits);
  const production = productionOf(constraint, { limits, budget, expressions, automaton, rules });
  const machine = new Machine({ automaton, rules }, limits, budget);
  const start = machine.start(production);
  const { lexers, mayEnd } = machine.threads(start);
  if (lexers.length === 0 && !mayEnd) throw unsatisfiable(constraint.kind);
  return { limits, budget, machine, start };
}

/** Whether the language holds the text as a whole. */
export function accepts({ machine, budget, start }: Language, text: string): boolean {
  budget.restart("compileSteps");
  let state = start;
  for (const byte of new TextEncoder().encode(text)) {
    state = machine.next(state, byte);
    if (state === deadParser) return false;
  }
  return machine.threads(state).mayEnd;
}

function productionOf(constraint: Constraint, workshop: Workshop): Production {
  switch (constraint.kind) {
    case "regex":
      return [terminal(patternText(constraint.pattern, workshop))];
    case "choice":
      return [terminal(anyOf(constraint.choices, workshop))];
    case "json-schema":
    case "json-object":
    case "grammar":
    case "structural-tag":
      throw new ConstraintRefusal({
        kind: "not-exact",
        subject: constraint.kind,
        place: "",
        message: `Constraints of the kind ${constraint.kind} cannot be compiled.`,
      });
    default:
      return unreachable(constraint);
  }
}

function patternText(pattern: string, { limits, expressions }: Workshop): Expression {
  checkLength(pattern.length, limits);
  const spelling = plainSpelling(expressions);
  return wholeMatch({ expressions, spelling, place: "" }, parsePattern(pattern, limits));
}

function anyOf(choices: readonly string[], { limits, expressions }: Workshop): Expression {
  checkLength(
    choices.reduce((length, choice) => length + choice.length, 0),
    limits,
  );
  const encoder = new TextEncoder();
  return expressions.or(...choices.map((choice) => expressions.literal(encoder.encode(choice))));
}

function checkLength(length: number, { sourceBytes }: GrammarLimits): void {
  if (length > sourceBytes) throw limitExceeded("sourceBytes", sourceBytes);
}

function unsatisfiable(kind: Constraint["kind"]): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "unsatisfiable",
    subject: kind,
    place: "",
    message: "No text satisfies the constraint.",
  });
}
