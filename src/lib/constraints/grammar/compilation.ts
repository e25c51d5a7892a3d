// State shared by all modules that compile one constraint. Contains no logic.
import type { GrammarLimits, StepBudget } from "../regex/limits.ts";
import type { Notices } from "./notices.ts";
import type { Recalls } from "./parser/recalls.ts";
import type { Rules } from "./parser/rules.ts";
import type { Automaton } from "../regex/automaton.ts";
import type { Expressions } from "../regex/expressions.ts";

/** State of one constraint's compilation: expressions, automaton states and rules, with one step budget. */
export interface Compilation {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  readonly expressions: Expressions;
  readonly automaton: Automaton;
  readonly rules: Rules;
  /** Recall symbols, whose productions depend on the text of the terminal before them. */
  readonly recalls: Recalls;
  /** Findings that are no reason to refuse the constraint. */
  readonly notices: Notices;
}
