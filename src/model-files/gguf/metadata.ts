// Typed access to a GGUF file's metadata: what is missing or of another type is said by its key.
import { ServiceError } from "../../domain/service-error.ts";
import type { GgufFile, GgufValue } from "./gguf-file.ts";

export class GgufMetadata {
  readonly #file: string;
  readonly #values: GgufFile["metadata"];

  /** @param file the name that errors carry */
  constructor(file: string, values: GgufFile["metadata"]) {
    this.#file = file;
    this.#values = values;
  }

  text(key: string): string | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || typeof value === "string") return value;
    throw this.#mistyped(key, "a text");
  }

  number(key: string): number | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || typeof value === "number") return value;
    throw this.#mistyped(key, "a number");
  }

  flag(key: string): boolean | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || typeof value === "boolean") return value;
    throw this.#mistyped(key, "true or false");
  }

  texts(key: string): readonly string[] | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || isListOf(value, "string")) return value;
    throw this.#mistyped(key, "a list of texts");
  }

  numbers(key: string): readonly number[] | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || isListOf(value, "number")) return value;
    throw this.#mistyped(key, "a list of numbers");
  }

  flags(key: string): readonly boolean[] | null {
    const value = this.#values.get(key) ?? null;
    if (value === null || isListOf(value, "boolean")) return value;
    throw this.#mistyped(key, "a list of true and false");
  }

  /** The value, which has to be there. */
  needed<Value>(key: string, value: Value | null): Value {
    if (value !== null) return value;
    throw this.error(`it has no ${key}`);
  }

  /** @param fault what is wrong, as a clause */
  error(fault: string): ServiceError {
    return new ServiceError({
      code: "unsupported",
      message: `The model ${this.#file} cannot be used: ${fault}.`,
    });
  }

  #mistyped(key: string, wanted: string): ServiceError {
    return this.error(`its ${key} is not ${wanted}`);
  }
}

interface ElementTypes {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
}

/** Lists have one type; an empty one is of any. */
function isListOf<Type extends keyof ElementTypes>(
  value: GgufValue,
  type: Type,
): value is readonly ElementTypes[Type][] & GgufValue {
  return Array.isArray(value) && (value.length === 0 || typeof value[0] === type);
}
