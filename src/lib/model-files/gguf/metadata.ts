// Typed access to a GGUF file's metadata; errors name the key of a missing value or wrong type.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { GgufFile } from "./gguf-file.ts";
import type { GgufValue } from "./type-numbers.ts";

export class GgufMetadata {
  readonly #file: string;
  readonly #values: GgufFile["metadata"];

  /** @param file file name used in errors */
  constructor(file: string, values: GgufFile["metadata"]) {
    this.#file = file;
    this.#values = values;
  }

  /** Returns the keys that begin with `prefix`, in the file's order. */
  keysBelow(prefix: string): readonly string[] {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix));
  }

  /** Returns a value of any type; null if the file has no such key. */
  value(key: string): GgufValue | null {
    return this.#values.get(key) ?? null;
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

  /** Returns a number. A file may also have a list here, which must repeat the same number for every layer. */
  uniform(key: string): number | null {
    const value = this.#values.get(key) ?? null;
    if (!Array.isArray(value)) return this.number(key);
    const list = this.numbers(key) ?? [];
    const [first] = list;
    if (first !== undefined && list.every((each) => each === first)) return first;
    throw this.error(`its ${key} is ${shownValue(value)}; every layer must have the same`);
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

  /** Returns the id of a token with a role, such as `eos`; null if there is none, or if no token has that id. */
  tokenId(role: string): number | null {
    const id = this.number(tokenIdKey(role));
    const count = this.texts("tokenizer.ggml.tokens")?.length ?? 0;
    return id !== null && id >= 0 && id < count ? id : null;
  }

  /** Like {@link tokenId}, but refuses an id without a token, for roles that affect results. */
  usedTokenId(role: string): number | null {
    const id = this.tokenId(role);
    if (id === null && this.number(tokenIdKey(role)) !== null) {
      const count = this.texts("tokenizer.ggml.tokens")?.length ?? 0;
      throw this.refused(tokenIdKey(role), `the file has ${count} tokens, with ids from 0`);
    }
    return id;
  }

  /** Returns the value, or throws if it is missing. */
  needed<Value>(key: string, value: Value | null): Value {
    if (value !== null) return value;
    throw this.error(`it has no ${key}`);
  }

  /** @param fault clause that says what is wrong */
  error(fault: string): ServiceError {
    return new ServiceError({
      code: "unsupported",
      message: `The model ${this.#file} cannot be used: ${fault}.`,
    });
  }

  /** Returns the error that refuses the value of `key`; `cure` says what is computed instead. */
  refused(key: string, cure: string): ServiceError {
    return this.error(`its ${key} is ${shownValue(this.value(key))}: ${cure}`);
  }

  #mistyped(key: string, wanted: string): ServiceError {
    return this.error(`its ${key} is not ${wanted}`);
  }
}

function tokenIdKey(role: string): string {
  return `tokenizer.ggml.${role}_token_id`;
}

function shownValue(value: GgufValue | null): string {
  const shown = JSON.stringify(value) ?? "absent";
  return shown.length > 100 ? `${shown.slice(0, 100)}…` : shown;
}

interface ElementTypes {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
}

/** True for a list of a type. Lists have one element type; an empty list matches any. */
function isListOf<Type extends keyof ElementTypes>(
  value: GgufValue,
  type: Type,
): value is readonly ElementTypes[Type][] & GgufValue {
  return Array.isArray(value) && (value.length === 0 || typeof value[0] === type);
}
