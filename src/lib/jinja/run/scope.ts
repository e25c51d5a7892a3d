// State of a running template: its output so far, and the names in scope.
import type { Value } from "../values/value.ts";
import type { Budget } from "../budget.ts";

/** Names visible in a part of a template: names of this scope, which shadow those of outer scopes. */
export class Scope {
  readonly #values = new Map<string, Value>();
  readonly #outer: Scope | null;

  constructor(outer: Scope | null, values: Iterable<readonly [string, Value]> = []) {
    this.#outer = outer;
    for (const [name, value] of values) this.#values.set(name, value);
  }

  /** Returns the value of a name; undefined if it is not set. */
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

/** Output text of a template, or of a block in it. */
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
