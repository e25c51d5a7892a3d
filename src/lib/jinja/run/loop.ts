// `loop`: the state of a `for` loop, which reads its items lazily.
import { TemplateFault } from "../fault.ts";
import type { Budget } from "../budget.ts";
import { equals } from "../values/compare.ts";
import { Callable, Host, Tuple, Undefined, type Value } from "../values/value.ts";

export interface LoopOptions {
  readonly items: Iterator<Value>;
  /** Number of items; null if it is known only after all items are read. */
  readonly length: number | null;
  readonly depth0: number;
  /** Renders the loop's body again for the given items; null if the loop is not recursive. */
  readonly recurse: ((items: Value) => string) | null;
  readonly budget: Budget;
}

export class Loop extends Host {
  readonly typeName = "LoopContext";
  readonly depth0: number;
  readonly recurse: LoopOptions["recurse"];
  readonly #budget: Budget;
  #items: Iterator<Value>;
  #length: number | null;
  #index0 = -1;
  #previous: Value | undefined;
  #current: Value | undefined;
  /** Item that was read ahead; undefined if there is none. */
  #next: IteratorResult<Value> | undefined;
  #changed: Tuple | undefined;

  constructor({ items, length, depth0, recurse, budget }: LoopOptions) {
    super();
    this.#items = items;
    this.#length = length;
    this.depth0 = depth0;
    this.recurse = recurse;
    this.#budget = budget;
  }

  /** Returns the next item; undefined after the last one. */
  advance(): Value | undefined {
    const next = this.#peek();
    if (next.done === true) return undefined;
    this.#next = undefined;
    this.#index0 += 1;
    this.#previous = this.#current;
    this.#current = next.value;
    return next.value;
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case "index":
        return BigInt(this.#index0 + 1);
      case "index0":
        return BigInt(this.#index0);
      case "revindex":
        return BigInt(this.#countAll() - this.#index0);
      case "revindex0":
        return BigInt(this.#countAll() - this.#index0 - 1);
      case "first":
        return this.#index0 === 0;
      case "last":
        return this.#peek().done === true;
      case "length":
        return BigInt(this.#countAll());
      case "depth":
        return BigInt(this.depth0 + 1);
      case "depth0":
        return BigInt(this.depth0);
      case "previtem":
        return this.#previous === undefined ? new Undefined("there is no previous item") : this.#previous;
      case "nextitem": {
        const next = this.#peek();
        return next.done === true ? new Undefined("there is no next item") : next.value;
      }
      case "cycle":
        return new Callable("cycle", ({ positional }) => {
          if (positional.length === 0) throw new TemplateFault("no items for cycling given");
          return positional[this.#index0 % positional.length];
        });
      case "changed":
        return new Callable("changed", ({ positional }) => this.#hasChanged(new Tuple(positional)));
      default:
        return undefined;
    }
  }

  override shown(): string {
    return `<LoopContext ${this.#index0 + 1}/${this.#countAll()}>`;
  }

  #peek(): IteratorResult<Value> {
    this.#next ??= this.#items.next();
    return this.#next;
  }

  #countAll(): number {
    if (this.#length !== null) return this.#length;
    const rest: Value[] = [];
    for (let next = this.#peek(); next.done !== true; next = this.#items.next()) {
      rest.push(next.value);
      this.#budget.spend();
      this.#budget.require(rest.length);
    }
    this.#next = undefined;
    this.#items = rest[Symbol.iterator]();
    this.#length = this.#index0 + 1 + rest.length;
    return this.#length;
  }

  #hasChanged(values: Tuple): boolean {
    if (this.#changed !== undefined && equals(this.#changed, values, this.#budget)) return false;
    this.#changed = values;
    return true;
  }
}
