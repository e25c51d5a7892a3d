// Arguments of filters, methods and functions, by position or name, converted to the required types.
import { TemplateFault } from "../fault.ts";
import { isTrue, numberOf } from "../values/compare.ts";
import { typeName } from "../values/show.ts";
import { Undefined, type CallArguments, type Value } from "../values/value.ts";

/**
 * Requires a call without arguments.
 *
 * @throws TemplateFault if there are arguments
 */
export function requireNone(callable: string, args: CallArguments): void {
  if (args.positional.length + args.named.size > 0)
    throw new TemplateFault(`${callable}() takes no arguments`);
}

export class Arguments {
  readonly #callable: string;
  readonly #values: ReadonlyMap<string, Value>;

  /**
   * @param parameters names in order, separated by blanks; names after a bar are optional
   * @throws TemplateFault if the arguments do not match
   */
  constructor(callable: string, { positional, named }: CallArguments, parameters: string) {
    this.#callable = callable;
    const [required, optional = []] = parameters
      .split("|")
      .map((part) => part.trim().split(" ").filter(Boolean));
    const names = [...required, ...optional];
    if (positional.length > names.length)
      throw new TemplateFault(
        `${callable}() takes at most ${names.length} arguments (${positional.length} given)`,
      );
    const values = new Map(positional.map((value, index) => [names[index], value]));
    for (const [name, value] of named) {
      if (!names.includes(name))
        throw new TemplateFault(`${callable}() got an unexpected keyword argument '${name}'`);
      if (values.has(name))
        throw new TemplateFault(`${callable}() got multiple values for argument '${name}'`);
      values.set(name, value);
    }
    const missing = required.find((name) => !values.has(name));
    if (missing !== undefined)
      throw new TemplateFault(`${callable}() missing required argument '${missing}'`);
    this.#values = values;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name);
  }

  getOr(name: string, otherwise: Value): Value {
    const value = this.#values.get(name);
    return value === undefined ? otherwise : value;
  }

  /** @param otherwise default; null if the argument is required */
  text(name: string, otherwise: string | null = null): string {
    const value = this.getOr(name, otherwise);
    if (typeof value === "string") return value;
    throw this.#wrong(name, "str", value);
  }

  /** Returns a text argument; null if omitted or None. */
  optionalText(name: string): string | null {
    return (this.#values.get(name) ?? null) === null ? null : this.text(name);
  }

  int(name: string, otherwise: number | null = null): number {
    const value = this.#values.get(name);
    if (value === undefined && otherwise !== null) return otherwise;
    const number = numberOf(value ?? null);
    if (typeof number === "bigint") return Number(number);
    throw this.#wrong(name, "int", value ?? null);
  }

  /** Returns an int argument; null if omitted or None. */
  optionalInt(name: string): number | null {
    return (this.#values.get(name) ?? null) === null ? null : this.int(name);
  }

  flag(name: string, otherwise = false): boolean {
    const value = this.#values.get(name);
    return value === undefined ? otherwise : isTrue(value);
  }

  #wrong(name: string, expected: string, value: Value): TemplateFault {
    if (value instanceof Undefined) return new TemplateFault(value.message);
    return new TemplateFault(
      `${this.#callable}() argument '${name}' must be ${expected}, not ${typeName(value)}`,
    );
  }
}
