// Computes the keys by which filters sort, group and select items. A key is an attribute of the item, such as
// `function.name`, optionally in lower case.
import type { Run } from "../run/run.ts";
import { isDigits } from "../methods/text-methods.ts";
import { Undefined, type Value } from "../values/value.ts";

export type KeyOf = (item: Value) => Value;

export interface KeyOptions {
  readonly ignoresCase?: boolean;
  /** Value to use if the item does not have the attribute. If absent or null, such an attribute is undefined. */
  readonly otherwise?: Value;
}

/**
 * Returns a function that computes the key of an item.
 *
 * @param attribute an index, or attribute names separated by dots; null to use the item itself as its key
 */
export function keyOf(
  attribute: Value,
  run: Run,
  { ignoresCase = false, otherwise = null }: KeyOptions = {},
): KeyOf {
  const parts = partsOf(attribute);
  return (item) => {
    let value = item;
    for (const part of parts) {
      value = run.item(value, part);
      if (otherwise !== null && value instanceof Undefined) value = otherwise;
    }
    return ignoresCase ? withoutCase(value) : value;
  };
}

/** Like {@link keyOf}, for several attributes separated by commas. */
export function keysOf(attribute: Value, run: Run, options: KeyOptions): (item: Value) => Value[] {
  const attributes = typeof attribute === "string" ? attribute.split(",") : [attribute];
  const keys = attributes.map((one) => keyOf(one, run, options));
  return (item) => keys.map((key) => key(item));
}

function partsOf(attribute: Value): readonly Value[] {
  if (attribute === null) return [];
  if (typeof attribute !== "string") return [attribute];
  return attribute.split(".").map((part) => (isDigits(part) && /^\d+$/.test(part) ? BigInt(part) : part));
}

export function withoutCase(value: Value): Value {
  return typeof value === "string" ? value.toLowerCase() : value;
}
