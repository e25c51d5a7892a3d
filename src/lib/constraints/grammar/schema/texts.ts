// Expressions for the texts of strings and numbers, used to compute the shapes of scalars. The body of a string is its
// text between the quotation marks.
import type { Compilation } from "../compilation.ts";
import { jsonSpelling, shortestSpelling } from "../../regex/characters/spelling.ts";
import type { Spelling } from "../../regex/characters/spelling.ts";
import type { Expression } from "../../regex/expressions.ts";
import { numberTexts } from "./decimals.ts";
import type { NumberTexts } from "./decimals.ts";
import type { NumberShape, StringShape } from "./shapes.ts";

const encoder = new TextEncoder();

export class Texts {
  readonly compilation: Compilation;
  readonly spelling: Spelling;
  /** Matches the body of any string. */
  readonly anyBody: Expression;
  readonly numbers: NumberTexts;
  /** Matches the body of any string without unnecessary escapes. Each string has exactly one such body. */
  readonly shortestBody: Expression;
  /** Complement of each string body; a body and its complement have an entry each. */
  readonly #others = new Map<Expression, Expression>();

  constructor(compilation: Compilation) {
    const { expressions } = compilation;
    this.compilation = compilation;
    this.spelling = jsonSpelling(expressions);
    this.anyBody = expressions.repeat(this.spelling.character, 0);
    this.shortestBody = expressions.repeat(shortestSpelling(expressions).character, 0);
    this.numbers = numberTexts(expressions);
  }

  /** Returns the bodies that denote a text, including all escaped spellings. */
  everySpelling(text: string): Expression {
    const characters = Array.from(text, (character) => {
      const point = character.codePointAt(0) ?? 0;
      return this.spelling.spell([point, point]);
    });
    return this.compilation.expressions.sequence(...characters);
  }

  /** Returns an expression for the bytes of a JSON value's text. */
  literal(text: string): Expression {
    return this.compilation.expressions.literal(encoder.encode(text));
  }

  /** True if the body matches a spelling of this text. */
  holds(body: Expression, text: string): boolean {
    return (
      body === this.anyBody || this.compilation.automaton.matches(body, encoder.encode(escapeForJson(text)))
    );
  }

  /** Returns the intersection of two bodies. */
  both(one: Expression, other: Expression): Expression {
    if (one === this.anyBody) return other;
    if (other === this.anyBody) return one;
    const { expressions } = this.compilation;
    if (this.#isCounter(other)) return expressions.bounded(one, other);
    return this.#isCounter(one) ? expressions.bounded(other, one) : expressions.and(one, other);
  }

  /** True if a body is restricted only by its number of characters. */
  #isCounter(body: Expression): boolean {
    const node = this.compilation.expressions.node(body);
    return node.kind === "repeat" && node.part === this.spelling.character;
  }

  /** Returns the union of bodies. */
  either(bodies: readonly Expression[]): Expression {
    return bodies.includes(this.anyBody) ? this.anyBody : this.compilation.expressions.or(...bodies);
  }

  /** Returns the bodies of all strings except these texts. */
  besides(texts: readonly string[]): Expression {
    return this.compilation.expressions.unlisted(this.anyBody, texts);
  }

  /** Returns the bodies of all strings that the given body does not match. */
  others(body: Expression): Expression {
    const { expressions } = this.compilation;
    const known = this.#others.get(body);
    if (known !== undefined) return known;
    const others = expressions.and(this.anyBody, expressions.not(body));
    this.#others.set(body, others);
    this.#others.set(others, body);
    return others;
  }

  /** Returns all bodies of a string shape, including all escaped spellings. */
  bodies({ body, values }: StringShape): Expression {
    if (values === null) return body;
    return this.compilation.expressions.or(...values.map((value) => this.everySpelling(value)));
  }

  /** Returns the texts of a string shape, including the quotation marks. */
  string({ body, values }: StringShape): Expression {
    const { expressions } = this.compilation;
    if (values !== null) return expressions.anyText(values.map((value) => JSON.stringify(value)));
    const mark = expressions.range(0x22, 0x22);
    return expressions.sequence(mark, body, mark);
  }

  /** Returns an expression that matches all texts of the numbers that a shape allows. */
  number({ isInteger, within, isShort, values }: NumberShape): Expression {
    const { expressions } = this.compilation;
    if (values !== null) return expressions.anyText(values);
    const form = isInteger ? this.numbers.integer : this.numbers.decimal;
    if (within === null) return isInteger ? form : this.numbers.any;
    return expressions.and(form, within, isShort ? this.numbers.short : expressions.anything);
  }

  /** Returns exactly one text for each value of the shape, so that different texts mean different values. */
  distinct(shape: NumberShape | StringShape): Expression {
    if (shape.values !== null) return shape.type === "number" ? this.number(shape) : this.string(shape);
    if (shape.type === "string")
      return this.string({ ...shape, body: this.both(shape.body, this.shortestBody) });
    const { shortestInteger, shortest } = this.numbers;
    const written = shape.isInteger ? shortestInteger : shortest;
    return shape.within === null ? written : this.compilation.expressions.and(written, this.number(shape));
  }

  /** Returns all decimal texts of the shape's numbers, in any notation; null for all numbers. */
  numberValues({ isInteger, within, values }: NumberShape): Expression | null {
    const { expressions } = this.compilation;
    if (values !== null) return expressions.or(...values.map((value) => this.numbers.equal(value)));
    if (!isInteger) return within;
    return within === null ? this.numbers.whole : expressions.and(this.numbers.whole, within);
  }

  holdsNumber(shape: NumberShape, decimal: string): boolean {
    const values = this.numberValues(shape);
    return values === null || this.compilation.automaton.matches(values, encoder.encode(decimal));
  }
}

/** Returns a text as it is written between the quotation marks of a JSON string. */
function escapeForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
