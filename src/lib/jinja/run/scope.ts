// The names that a piece of a template sees: its own over those around it.
import type { Value } from "../values/value.ts";

export class Scope {
  readonly #values = new Map<string, Value>();
  readonly #outer: Scope | null;

  constructor(outer: Scope | null, values: Iterable<readonly [string, Value]> = []) {
    this.#outer = outer;
    for (const [name, value] of values) this.#values.set(name, value);
  }

  /** Undefined where nobody has set it. */
  get(name: string): Value | undefined {
    const own = this.#values.get(name);
    return own === undefined ? this.#outer?.get(name) : own;
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  /** The one around all. */
  get outermost(): Scope {
    return this.#outer === null ? this : this.#outer.outermost;
  }
}
