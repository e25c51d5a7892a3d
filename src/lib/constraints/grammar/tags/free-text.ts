// Expressions of free text: text that avoids certain texts, and such text before one of them.
import { plainSpelling } from "../../regex/characters/spelling.ts";
import { nothing } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Compilation } from "../compilation.ts";

export class FreeText {
  /** Text without stops and excluded texts. */
  readonly open: Expression;
  readonly #compilation: Compilation;
  readonly #stops: readonly string[];
  readonly #anyText: Expression;

  /** @param stops end the text; the first to be complete counts */
  constructor(compilation: Compilation, stops: readonly string[], excludes: readonly string[]) {
    const { expressions } = compilation;
    this.#compilation = compilation;
    this.#stops = stops;
    this.#anyText = expressions.repeat(plainSpelling(expressions).character, 0);
    const unwanted = expressions.anyText([...stops, ...excludes]);
    const holding = expressions.sequence(this.#anyText, unwanted, expressions.anything);
    this.open = expressions.and(this.#anyText, expressions.not(holding));
  }

  /** Returns the text before an end, such that the end is the first stop to be complete, or one of the first. */
  before(end: string): Expression {
    const { expressions, budget } = this.#compilation;
    budget.spend(1 + this.#stops.reduce((length, stop) => length + stop.length, 0) / 64);
    const start = end.slice(0, -1);
    if (this.#stops.some((stop) => start.includes(stop))) return nothing;
    const tooEarly = this.#stops.flatMap((stop) => completedBy(start, stop));
    if (tooEarly.length === 0) return this.open;
    const closing = expressions.sequence(this.#anyText, expressions.anyText(tooEarly));
    return expressions.and(this.open, expressions.not(closing));
  }
}

/** Returns the texts that a text's first characters complete to a stop: `<a` of `<ab` for a text that begins with b. */
function completedBy(text: string, stop: string): readonly string[] {
  const found: string[] = [];
  if (text === "") return found;
  for (let at = stop.indexOf(text[0], 1); at > 0; at = stop.indexOf(text[0], at + 1))
    if (text.startsWith(stop.slice(at))) found.push(stop.slice(0, at));
  return found;
}
