// Reads the members of an object in a structural tag by name. Refuses missing, malformed and unknown members, naming
// their location. A null member counts as absent.
import { exactJsonText } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson, ExactJsonObject } from "../../../../base/domain/text/exact-json.ts";
import { cut } from "../../../../base/domain/service-error.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";
import { escaped, isObject } from "../schema/document.ts";

/** A value and its location as a JSON pointer. */
export interface Placed {
  readonly value: ExactJson;
  readonly pointer: string;
}

export class Members {
  readonly pointer: string;
  readonly #object: ExactJsonObject;
  readonly #unread: Set<string>;

  constructor({ value, pointer }: Placed) {
    if (!isObject(value)) throw malformed(pointer, "an object", value);
    this.pointer = pointer;
    this.#object = value;
    this.#unread = new Set(Object.keys(value).filter((name) => value[name] !== null));
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name) && this.#object[name] !== null;
  }

  /**
   * Returns a member that must be present.
   *
   * @param wanted description of the member for the refusal
   */
  required(name: string, wanted: string): Placed {
    const pointer = `${this.pointer}/${escaped(name)}`;
    if (!this.has(name)) throw malformed(pointer, wanted, undefined);
    this.#unread.delete(name);
    return { value: this.#object[name], pointer };
  }

  text(name: string): string {
    return textOf(this.required(name, "a text"));
  }

  list(name: string): readonly Placed[] {
    const items = itemsOf(this.required(name, "a list"));
    if (items.length === 0) throw malformed(`${this.pointer}/${escaped(name)}`, "a non-empty list", []);
    return items;
  }

  /** Returns a list of texts, each of which must be non-empty. Returns an empty list if the member is absent. */
  texts(name: string): readonly string[] {
    return this.has(name) ? itemsOf(this.required(name, "a list")).map(filledTextOf) : [];
  }

  flag(name: string, ifAbsent = false): boolean {
    if (!this.has(name)) return ifAbsent;
    const { value, pointer } = this.required(name, "true or false");
    if (typeof value !== "boolean") throw malformed(pointer, "true or false", value);
    return value;
  }

  /** Returns an integer, which must be at least `least`. */
  count(name: string, least = 0): number {
    const wanted = `a whole number of at least ${least}`;
    const { value, pointer } = this.required(name, wanted);
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least)
      throw malformed(pointer, wanted, value);
    return value;
  }

  /** Refuses a known but unsupported member, unless its value is listed in `idle` because it has no effect. */
  notServed(name: string, ...idle: readonly ExactJson[]): void {
    if (!this.has(name)) return;
    const { value, pointer } = this.required(name, "absent");
    if (!idle.some((one) => exactJsonText(one) === exactJsonText(value)))
      throw notExact(name, pointer, `is ${cut(exactJsonText(value))}, which is not supported`);
  }

  /**
   * Checks that every member was read.
   *
   * @throws ConstraintRefusal for a member that no reader knows
   */
  end(): void {
    const [name] = this.#unread;
    if (name === undefined) return;
    const pointer = `${this.pointer}/${escaped(name)}`;
    throw malformed(pointer, "absent, since this format has no such member", this.#object[name]);
  }
}

/** Returns the text of a value. Refuses texts with lone surrogates. */
export function textOf({ value, pointer }: Placed): string {
  if (typeof value !== "string") throw malformed(pointer, "a text", value);
  if (/\p{Surrogate}/u.test(value)) throw malformed(pointer, "a text without lone surrogates", value);
  return value;
}

export function filledTextOf(placed: Placed): string {
  const text = textOf(placed);
  if (text === "") throw malformed(placed.pointer, "a non-empty text", text);
  return text;
}

export function itemsOf({ value, pointer }: Placed): readonly Placed[] {
  if (!Array.isArray(value)) throw malformed(pointer, "a list", value);
  return value.map((item: ExactJson, index) => ({ value: item, pointer: `${pointer}/${index}` }));
}

/**
 * Returns the refusal of a malformed or missing value.
 *
 * @param value the value found; undefined if it is missing
 */
export function malformed(pointer: string, wanted: string, value: ExactJson | undefined): ConstraintRefusal {
  const found = value === undefined ? "nothing" : cut(exactJsonText(value));
  return new ConstraintRefusal({
    kind: "malformed",
    subject: pointer.slice(pointer.lastIndexOf("/") + 1),
    place: pointer,
    message: `The structural tag has ${found} at ${pointer}; it must be ${wanted}.`,
  });
}

/** Returns the refusal of a known but unsupported feature. */
export function notExact(subject: string, pointer: string, why: string): ConstraintRefusal {
  const message = `The structural tag's ${subject} at ${pointer} ${why}.`;
  return new ConstraintRefusal({ kind: "not-exact", subject, place: pointer, message });
}
