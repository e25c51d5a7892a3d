// Reads the tokens of a template in order.
import { TemplateFault } from "../fault.ts";
import { describeToken, type Token } from "./tokens.ts";

export class TokenReader {
  readonly #tokens: readonly Token[];
  #place = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.#tokens[this.#place];
  }

  get line(): number {
    return this.current.line;
  }

  /** The token after the current one. */
  get following(): Token {
    return this.#tokens[Math.min(this.#place + 1, this.#tokens.length - 1)];
  }

  next(): Token {
    const token = this.current;
    // The reader stays at the end token.
    if (token.kind !== "end") this.#place += 1;
    return token;
  }

  isOperator(...texts: readonly string[]): boolean {
    const token = this.current;
    return token.kind === "operator" && texts.includes(token.text);
  }

  isName(...texts: readonly string[]): boolean {
    const token = this.current;
    return token.kind === "name" && texts.includes(token.text);
  }

  skipOperator(text: string): boolean {
    const is = this.isOperator(text);
    if (is) this.next();
    return is;
  }

  skipName(text: string): boolean {
    const is = this.isName(text);
    if (is) this.next();
    return is;
  }

  expectOperator(text: string): void {
    if (!this.skipOperator(text)) this.refuse(`expected '${text}'`);
  }

  expectName(): string {
    const token = this.current;
    if (token.kind !== "name") return this.refuse("expected a name");
    this.next();
    return token.text;
  }

  expect(kind: Token["kind"], words: string): void {
    if (this.current.kind !== kind) this.refuse(`expected ${words}`);
    this.next();
  }

  /** Throws an error that names the expected and the actual token. */
  refuse(expected: string): never {
    throw new TemplateFault(`${expected}, got ${describeToken(this.current)}`, this.line);
  }
}
