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
    return this.#typed(key, "a text", (value) => typeof value === "string");
  }

  number(key: string): number | null {
    return this.#typed(key, "a number", (value) => typeof value === "number");
  }

  flag(key: string): boolean | null {
    return this.#typed(key, "true or false", (value) => typeof value === "boolean");
  }

  texts(key: string): readonly string[] | null {
    return this.#typed(key, "a list of texts", (value) => isListOf(value, "string"));
  }

  numbers(key: string): readonly number[] | null {
    return this.#typed(key, "a list of numbers", (value) => isListOf(value, "number"));
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

  #typed<Value extends GgufValue>(
    key: string,
    wanted: string,
    isWanted: (value: GgufValue) => boolean,
  ): Value | null {
    const value = this.#values.get(key);
    if (value === undefined) return null;
    if (!isWanted(value)) throw this.error(`its ${key} is not ${wanted}`);
    // `isWanted` has looked.
    return value as Value;
  }
}

/** Lists have one type; an empty one is of any. */
function isListOf(value: GgufValue, type: "string" | "number"): boolean {
  return Array.isArray(value) && (value.length === 0 || typeof value[0] === type);
}
