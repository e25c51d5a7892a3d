// The texts of strings and numbers as expressions: what the shapes of scalars are computed with.
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
  /** The body of any string. */
  readonly anyBody: Expression;
  readonly numbers: NumberTexts;
  /** The body of any string, with no more escapes than it needs: one for each string. */
  readonly shortestBody: Expression;
  /** Bodies with those but them, both ways. */
  readonly #others = new Map<Expression, Expression>();

  constructor(compilation: Compilation) {
    const { expressions } = compilation;
    this.compilation = compilation;
    this.spelling = jsonSpelling(expressions);
    this.anyBody = expressions.repeat(this.spelling.character, 0);
    this.shortestBody = expressions.repeat(shortestSpelling(expressions).character, 0);
    this.numbers = numberTexts(expressions);
  }

  /** The bodies that say this text, with every escape. */
  everySpelling(text: string): Expression {
    const characters = Array.from(text, (character) => {
      const point = character.codePointAt(0) ?? 0;
      return this.spelling.spell([point, point]);
    });
    return this.compilation.expressions.sequence(...characters);
  }

  /** The text that says a JSON value, as bytes. */
  literal(text: string): Expression {
    return this.compilation.expressions.literal(encoder.encode(text));
  }

  /** Whether a string's body may say this text. */
  holds(body: Expression, text: string): boolean {
    return body === this.anyBody || this.compilation.automaton.matches(body, encoder.encode(bodyOf(text)));
  }

  /** Bodies of both. */
  both(one: Expression, other: Expression): Expression {
    if (one === this.anyBody) return other;
    if (other === this.anyBody) return one;
    const { expressions } = this.compilation;
    if (this.#isCounter(other)) return expressions.bounded(one, other);
    return this.#isCounter(one) ? expressions.bounded(other, one) : expressions.and(one, other);
  }

  /** Whether the number of characters alone decides which bodies are allowed. */
  #isCounter(body: Expression): boolean {
    const node = this.compilation.expressions.node(body);
    return node.kind === "repeat" && node.part === this.spelling.character;
  }

  /** Bodies of any. */
  either(bodies: readonly Expression[]): Expression {
    return bodies.includes(this.anyBody) ? this.anyBody : this.compilation.expressions.or(...bodies);
  }

  /** Bodies that say none of the texts. */
  besides(texts: readonly string[]): Expression {
    return this.compilation.expressions.unlisted(this.anyBody, texts);
  }

  /** Bodies but these. */
  others(body: Expression): Expression {
    const { expressions } = this.compilation;
    const known = this.#others.get(body);
    if (known !== undefined) return known;
    const others = expressions.and(this.anyBody, expressions.not(body));
    this.#others.set(body, others);
    this.#others.set(others, body);
    return others;
  }

  /** All bodies of a shape of strings, with every escape. */
  bodies({ body, values }: StringShape): Expression {
    if (values === null) return body;
    return this.compilation.expressions.or(...values.map((value) => this.everySpelling(value)));
  }

  /** The text of a value of the shape, quotation marks included. */
  string({ body, values }: StringShape): Expression {
    const { expressions } = this.compilation;
    if (values !== null) return expressions.anyText(values.map((value) => JSON.stringify(value)));
    const mark = expressions.range(0x22, 0x22);
    return expressions.sequence(mark, body, mark);
  }

  /** The text of a number of the shape. */
  number({ isInteger, within, isShort, values }: NumberShape): Expression {
    const { expressions } = this.compilation;
    if (values !== null) return expressions.anyText(values);
    const form = isInteger ? this.numbers.integer : this.numbers.decimal;
    if (within === null) return isInteger ? form : this.numbers.any;
    return expressions.and(form, within, isShort ? this.numbers.short : expressions.anything);
  }

  /** The text of a value of the shape where values are told apart by their texts: one for each value. */
  distinct(shape: NumberShape | StringShape): Expression {
    if (shape.values !== null) return shape.type === "number" ? this.number(shape) : this.string(shape);
    if (shape.type === "string")
      return this.string({ ...shape, body: this.both(shape.body, this.shortestBody) });
    const { shortestInteger, shortest } = this.numbers;
    const written = shape.isInteger ? shortestInteger : shortest;
    return shape.within === null ? written : this.compilation.expressions.and(written, this.number(shape));
  }

  /** Every decimal text of a number of the shape, however it is written out; null for all numbers. */
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

/** What stands between the quotation marks of the JSON of a string. */
function bodyOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
