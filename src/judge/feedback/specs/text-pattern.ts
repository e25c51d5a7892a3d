// Regular expressions in the schema of a spec. Matching takes time linear in the text's length. Anyone may publish a
// spec, so a backtracking matcher could block the server (ReDoS).
import { Automaton, deadState, type LexerState } from "../../../lib/constraints/regex/automaton.ts";
import { plainSpelling } from "../../../lib/constraints/regex/characters/spelling.ts";
import { matchAnywhere } from "../../../lib/constraints/regex/compile-pattern.ts";
import { Expressions } from "../../../lib/constraints/regex/expressions.ts";
import {
  defaultGrammarLimits,
  StepBudget,
  withinStack,
  type GrammarLimits,
} from "../../../lib/constraints/regex/limits.ts";
import { parsePattern } from "../../../lib/constraints/regex/parse-pattern.ts";

/**
 * Limits on compiling and matching all patterns of a schema in one request. At these limits, the work takes about 20
 * ms.
 */
const limits: GrammarLimits = { ...defaultGrammarLimits, compileSteps: 20_000, states: 2000 };

/** The patterns of one schema, which share one budget of work. */
export class TextPatterns {
  readonly #budget = new StepBudget(limits);
  readonly #known = new Map<string, TextPattern>();

  /**
   * Compiles a pattern.
   *
   * @param source in the dialect of ECMA-262
   * @throws ConstraintRefusal if it is malformed, cannot be expressed exactly, or costs too much
   */
  read(source: string): TextPattern {
    const known = this.#known.get(source);
    if (known !== undefined) return known;
    const pattern = withinStack(limits, () => new TextPattern(source, this.#budget));
    this.#known.set(source, pattern);
    return pattern;
  }
}

export class TextPattern {
  readonly #automaton: Automaton;
  readonly #start: LexerState;

  constructor(source: string, budget: StepBudget) {
    const expressions = new Expressions(limits, budget);
    const wording = { expressions, spelling: plainSpelling(expressions), place: "" };
    const expression = matchAnywhere(wording, parsePattern(source, { limits, budget }));
    this.#automaton = new Automaton(expressions, limits, budget);
    this.#start = this.#automaton.start(expression);
  }

  /**
   * True if the pattern matches anywhere in the text.
   *
   * @throws ConstraintRefusal if matching costs too much
   */
  isIn(text: string): boolean {
    let state = this.#start;
    for (const byte of Buffer.from(text)) {
      if (state === deadState) return false;
      state = this.#automaton.next(state, byte);
    }
    return this.#automaton.isAccepting[state];
  }
}
