// A cursor over the text of a pattern or grammar. It also creates refusals that name the position.
import { quoted } from "../../../base/domain/service-error.ts";
import { ConstraintRefusal } from "./limits.ts";

export class Reader {
  readonly place: string;
  position = 0;
  readonly #text: string;
  readonly #noun: string;

  /**
   * @param place location of the text, such as a JSON pointer into a schema; may be empty
   * @param noun name for the text in refusals
   */
  constructor(text: string, place: string, noun = "pattern") {
    this.#text = text;
    this.place = place;
    this.#noun = noun;
  }

  get isAtEnd(): boolean {
    return this.position >= this.#text.length;
  }

  /** The text as quoted in error messages. */
  get described(): string {
    return `the ${this.#noun} ${quoted(this.#text)}${this.place === "" ? "" : ` at ${this.place}`}`;
  }

  sees(text: string): boolean {
    return this.#text.startsWith(text, this.position);
  }

  /** Skips the text and returns true if it comes next. */
  skip(text: string): boolean {
    if (!this.sees(text)) return false;
    this.position += text.length;
    return true;
  }

  /** Returns the next character without skipping it; empty at the end. */
  peek(): string {
    const point = this.#text.codePointAt(this.position);
    return point === undefined ? "" : String.fromCodePoint(point);
  }

  /** Returns the next character and skips it. */
  take(): string {
    const character = this.peek();
    if (character === "") throw this.malformed("an unexpected end");
    this.position += character.length;
    return character;
  }

  /** Matches a sticky expression at the position and skips the match; returns null if it does not match. */
  match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.position;
    const match = expression.exec(this.#text);
    if (match !== null) this.position += match[0].length;
    return match;
  }

  placeOf(position: number): string {
    return this.place === "" ? `position ${position}` : `${this.place}, position ${position}`;
  }

  malformed(what: string, position = this.position): ConstraintRefusal {
    return new ConstraintRefusal({
      kind: "malformed",
      subject: what,
      place: this.placeOf(position),
      message: `There is ${what} at position ${position} of ${this.described}.`,
    });
  }

  /** @param cure sentence that suggests an alternative, without its full stop */
  notExact(what: string, position = this.position, cure = ""): ConstraintRefusal {
    return new ConstraintRefusal({
      kind: "not-exact",
      subject: what,
      place: this.placeOf(position),
      message: `There is ${what} at position ${position} of ${this.described}, which cannot be expressed exactly.${cure === "" ? "" : ` ${cure}.`}`,
    });
  }
}
