// State of a running template: the text it has made and the names it sees.
import type { Value } from "../values/value.ts";
import type { Budget } from "../budget.ts";

/** The names visible in a part of a template: its own, which shadow outer ones. */
export class Scope {
  readonly #values = new Map<string, Value>();
  readonly #outer: Scope | null;

  constructor(outer: Scope | null, values: Iterable<readonly [string, Value]> = []) {
    this.#outer = outer;
    for (const [name, value] of values) this.#values.set(name, value);
  }

  /** Undefined if it is not set. */
  get(name: string): Value | undefined {
    const own = this.#values.get(name);
    return own === undefined ? this.#outer?.get(name) : own;
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  /** The outermost scope. */
  get outermost(): Scope {
    return this.#outer === null ? this : this.#outer.outermost;
  }
}

/** The text that a template, or a block of it, makes. */
export class Output {
  readonly #pieces: string[] = [];
  readonly #budget: Budget;
  #length = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add(text: string): void {
    this.#length += text.length;
    this.#budget.require(this.#length);
    this.#pieces.push(text);
  }

  get text(): string {
    return this.#pieces.join("");
  }
}
