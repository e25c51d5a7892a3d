// Expressions for free text, which contains neither a stop nor an excluded text. Either anything may follow the text,
// or a given stop must follow it directly.
import { plainSpelling } from "../../regex/characters/spelling.ts";
import { nothing } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Compilation } from "../compilation.ts";

export class FreeText {
  /** Text that contains neither stops nor excluded texts. */
  readonly open: Expression;
  readonly #compilation: Compilation;
  readonly #stops: readonly string[];
  readonly #anyText: Expression;

  /** @param stops texts that end the free text; the stop that is complete first ends it */
  constructor(compilation: Compilation, stops: readonly string[], excludes: readonly string[]) {
    const { expressions } = compilation;
    this.#compilation = compilation;
    this.#stops = stops;
    this.#anyText = expressions.repeat(plainSpelling(expressions).character, 0);
    const unwanted = expressions.anyText([...stops, ...excludes]);
    const holding = expressions.sequence(this.#anyText, unwanted, expressions.anything);
    this.open = expressions.and(this.#anyText, expressions.not(holding));
  }

  /** Returns the free text that may precede `end`. No stop may be complete before `end` is. */
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

/**
 * Returns the prefixes of the stop that the text's first characters complete: `<a` for the stop `<ab` and a text that
 * begins with b.
 */
function completedBy(text: string, stop: string): readonly string[] {
  const found: string[] = [];
  if (text === "") return found;
  for (let at = stop.indexOf(text[0], 1); at > 0; at = stop.indexOf(text[0], at + 1))
    if (text.startsWith(stop.slice(at))) found.push(stop.slice(0, at));
  return found;
}
