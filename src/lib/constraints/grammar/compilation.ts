// The state shared by all parts that compile one constraint. No logic.
import type { GrammarLimits, StepBudget } from "../regex/limits.ts";
import type { Notices } from "./notices.ts";
import type { Recalls } from "./parser/recalls.ts";
import type { Rules } from "./parser/rules.ts";
import type { Automaton } from "../regex/automaton.ts";
import type { Expressions } from "../regex/expressions.ts";

/** One constraint being compiled: its expressions, automaton states and rules, under one budget. */
export interface Compilation {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  readonly expressions: Expressions;
  readonly automaton: Automaton;
  readonly rules: Rules;
  /** Symbols that depend on a recorded text. */
  readonly recalls: Recalls;
  /** Findings that are no refusals. */
  readonly notices: Notices;
}
