// Compiles a constraint to a parser for its texts, from which masks for any tokenizer can be computed. This module
// knows nothing about tokens.
import type {
  Constraint,
  ConstraintOptions,
  ConstraintRule,
  RefusalKind,
} from "../../../base/domain/constraint.ts";
import { parseExactJson } from "../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../base/domain/text/exact-json.ts";
import { unreachable } from "../../../base/domain/assert.ts";
import { ConstraintRefusal, limitExceeded, StepBudget, withinStack } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { Machine } from "./parser/machine.ts";
import type { ParserState } from "./parser/machine.ts";
import { Recalls } from "./parser/recalls.ts";
import { Rules, terminal } from "./parser/rules.ts";
import type { GrammarSymbol } from "./parser/rules.ts";
import { Automaton } from "../regex/automaton.ts";
import { plainSpelling } from "../regex/characters/spelling.ts";
import { compileGrammar } from "./notation/compile-grammar.ts";
import { readGrammar } from "./notation/read-grammar.ts";
import { Expressions } from "../regex/expressions.ts";
import type { Expression } from "../regex/expressions.ts";
import { wholeMatch } from "../regex/compile-pattern.ts";
import { readJsonSchema } from "./schema/json-schema.ts";
import { compileTags } from "./tags/compile-tags.ts";
import { readTags } from "./tags/read-tags.ts";
import { constraintBase } from "./constraint-base.ts";
import { Notices } from "./notices.ts";
import type { Compilation } from "./compilation.ts";
import { parsePattern } from "../regex/parse-pattern.ts";

/** Reading a grammar costs one step per four characters. */
const charactersPerStepLog2 = 2;

export interface Language {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  /** Grammar symbol that matches a whole text. */
  readonly symbol: GrammarSymbol;
  readonly rules: Rules;
  readonly machine: Machine;
  /** Parser state before the first byte. */
  readonly start: ParserState;
  /**
   * Serializes a value in the form that the language accepts, with properties in the schema's order. Null unless the
   * constraint is for JSON.
   */
  readonly textOf: ((value: ExactJson) => string) | null;
  /** Notices for the caller, each a full sentence. */
  readonly notices: readonly string[];
}

/**
 * Compiles a constraint.
 *
 * @throws ConstraintRefusal if the constraint is malformed, cannot be expressed exactly, allows no text or exceeds a
 * limit
 */
export function readLanguage(constraint: Constraint, limits: GrammarLimits): Language {
  return withinStack(limits, () => compileLanguage(constraint, limits));
}

function compileLanguage(constraint: Constraint, limits: GrammarLimits): Language {
  const budget = new StepBudget(limits);
  const common = constraintBase();
  const expressions = new Expressions(limits, budget, common.expressions);
  const automaton = new Automaton(expressions, limits, budget, common.automaton);
  const rules = new Rules(limits);
  const recalls = new Recalls(rules);
  const notices = new Notices();
  const { symbol, textOf } = read(constraint, {
    limits,
    budget,
    expressions,
    automaton,
    rules,
    recalls,
    notices,
  });
  const machine = new Machine({ automaton, rules, recalls }, limits, budget);
  const start = machine.start([symbol]);
  const { lexers, mayEnd } = machine.threads(start);
  if (lexers.length === 0 && !mayEnd)
    throw refusal("unsatisfiable", constraint.kind, "No text satisfies the constraint.");
  return { limits, budget, symbol, rules, machine, start, textOf, notices: notices.sentences };
}

/**
 * Renews the budget for checking a text of `length` bytes: it gets the steps of one compilation for each 64 bytes.
 * Generating the same text may use more steps.
 */
export function grantStepsFor(budget: StepBudget, length: number): void {
  budget.restart("compileSteps", Math.ceil(length / 64));
}

interface Reading {
  readonly symbol: GrammarSymbol;
  readonly textOf: Language["textOf"];
}

function read(constraint: Constraint, compilation: Compilation): Reading {
  const lexeme = (expression: Expression): Reading => ({
    symbol: terminal(expression),
    textOf: null,
  });
  switch (constraint.kind) {
    case "regex":
      return lexeme(patternText(constraint.pattern, compilation));
    case "choice":
      return lexeme(anyOf(constraint.choices, compilation));
    case "json-schema":
      return readSchema(constraint.schema, constraint, compilation);
    case "json-object":
      return readSchema('{"type":"object"}', constraint, compilation);
    case "grammar": {
      checkLength(constraint.text.length, compilation.limits);
      // Charges the steps before reading, so that a thread with a small budget gives up immediately.
      compilation.budget.spend(constraint.text.length >>> charactersPerStepLog2);
      return {
        symbol: compileGrammar(readGrammar(constraint.text, compilation), constraint, compilation),
        textOf: null,
      };
    }
    case "structural-tag":
      return readTag(constraint.tag, constraint, compilation);
    default:
      return unreachable(constraint);
  }
}

function readSchema(schema: string, options: ConstraintOptions, compilation: Compilation): Reading {
  checkLength(schema.length, compilation.limits);
  return readJsonSchema(parseExactJson(schema), options, compilation);
}

/** Compiles the constraint inside a tag like a whole constraint, but with separate rule names. */
function readTag(tag: string, options: ConstraintOptions, compilation: Compilation): Reading {
  checkLength(tag.length, compilation.limits);
  const readContent = (rule: ConstraintRule): GrammarSymbol => {
    return read({ ...options, ...rule }, { ...compilation, rules: compilation.rules.apart() }).symbol;
  };
  const symbol = compileTags(readTags(parseExactJson(tag), compilation.limits), readContent, compilation);
  return { symbol, textOf: null };
}

function patternText(pattern: string, { limits, budget, expressions }: Compilation): Expression {
  checkLength(pattern.length, limits);
  const spelling = plainSpelling(expressions);
  return wholeMatch({ expressions, spelling, place: "" }, parsePattern(pattern, { limits, budget }));
}

function anyOf(choices: readonly string[], { limits, expressions }: Compilation): Expression {
  checkLength(
    choices.reduce((length, choice) => length + choice.length, 0),
    limits,
  );
  return expressions.anyText(choices);
}

function checkLength(length: number, { sourceBytes }: GrammarLimits): void {
  if (length > sourceBytes) throw limitExceeded("sourceBytes", sourceBytes);
}

function refusal(kind: RefusalKind, subject: string, message: string): ConstraintRefusal {
  return new ConstraintRefusal({ kind, subject, place: "", message });
}
