// Free text as expressions: text in which certain texts do not stand, and such text before one of them.
import { anyOfTexts, plainSpelling } from "../../regex/characters.ts";
import { nothing } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Workshop } from "../workshop.ts";

export class FreeText {
  /** Text that holds neither stops nor what is excluded. */
  readonly open: Expression;
  readonly #workshop: Workshop;
  readonly #stops: readonly string[];
  readonly #anyText: Expression;

  /** @param stops what ends the text, of which the first counts */
  constructor(workshop: Workshop, stops: readonly string[], excludes: readonly string[]) {
    const { expressions } = workshop;
    this.#workshop = workshop;
    this.#stops = stops;
    this.#anyText = expressions.repeat(plainSpelling(expressions).character, 0);
    const unwanted = anyOfTexts(expressions, [...stops, ...excludes]);
    const holding = expressions.sequence(this.#anyText, unwanted, expressions.anything);
    this.open = expressions.and(this.#anyText, expressions.not(holding));
  }

  /** Such text as makes this end, written behind it, the first of all stops to be complete, or one of the first. */
  before(end: string): Expression {
    const { expressions, budget } = this.#workshop;
    budget.spend(1 + this.#stops.reduce((length, stop) => length + stop.length, 0) / 64);
    if (this.#stops.some((stop) => end.slice(0, -1).includes(stop))) return nothing;
    // What would be a stop together with the first characters of the end.
    const tooEarly = this.#stops.flatMap((stop) =>
      Array.from({ length: stop.length - 1 }, (_, index) => index + 1)
        .filter((at) => stop[at] === end[0] && stop.length - at < end.length)
        .filter((at) => end.startsWith(stop.slice(at)))
        .map((at) => stop.slice(0, at)),
    );
    if (tooEarly.length === 0) return this.open;
    const closing = expressions.sequence(this.#anyText, anyOfTexts(expressions, tooEarly));
    return expressions.and(this.open, expressions.not(closing));
  }
}
