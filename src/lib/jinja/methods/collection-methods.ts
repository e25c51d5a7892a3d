// The methods of lists, tuples, dicts, ranges and numbers. No method changes its object, because templates treat all
// values as immutable.
import { TemplateFault } from "../fault.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import type { Method } from "../run/run.ts";
import { equals, hashableKey, iterate } from "../values/compare.ts";
import { reprOf } from "../values/show.ts";
import { Dict, DictView, type Range, type Value } from "../values/value.ts";

export const sequenceMethods: Readonly<Record<string, Method<readonly Value[]>>> = {
  index: (items, args, { budget }) => {
    const asked = new Arguments("index", args, "value | start stop");
    const value = asked.get("value") ?? null;
    const from = placeIn(items, asked.int("start", 0));
    const to = placeIn(items, asked.int("stop", items.length));
    const place = items.findIndex(
      (item, index) => index >= from && index < to && equals(item, value, budget),
    );
    if (place < 0) throw new TemplateFault(`${reprOf(value, budget)} is not in list`);
    return BigInt(place);
  },
  count: (items, args, { budget }) => {
    const value = new Arguments("count", args, "value").get("value") ?? null;
    return BigInt(items.filter((item) => equals(item, value, budget)).length);
  },
};

function placeIn(items: readonly Value[], index: number): number {
  return index < 0 ? Math.max(0, index + items.length) : index;
}

export const listMethods: Readonly<Record<string, Method<Value[]>>> = {
  ...sequenceMethods,
  copy: (items) => [...items],
};

export const dictMethods: Readonly<Record<string, Method<Dict>>> = {
  get: (dict, args) => {
    const asked = new Arguments("get", args, "key | default");
    const value = dict.get(hashableKey(asked.get("key") ?? null));
    return value === undefined ? (asked.get("default") ?? null) : value;
  },
  keys: (dict, args) => view(dict, "keys", args),
  values: (dict, args) => view(dict, "values", args),
  items: (dict, args) => view(dict, "items", args),
  copy: (dict) => Dict.of(dict.entries()),
  fromkeys: (_dict, args) => keysOf(args),
};

function view(
  dict: Dict,
  kind: DictView["kind"],
  args: ConstructorParameters<typeof Arguments>[1],
): DictView {
  requireNone(kind, args);
  return new DictView(dict, kind);
}

/** Returns a dict with the given keys, all with the same value, as Python's `dict.fromkeys`. */
export function keysOf(args: ConstructorParameters<typeof Arguments>[1]): Dict {
  const asked = new Arguments("fromkeys", args, "iterable | value");
  const value = asked.get("value") ?? null;
  return Dict.of(
    Array.from(iterate(asked.get("iterable") ?? null), (key) => [hashableKey(key), value] as const),
  );
}

export const rangeMethods: Readonly<Record<string, Method<Range>>> = {
  index: (range, args, run) => sequenceMethods["index"](Array.from(iterate(range)), args, run),
  count: (range, args, run) => sequenceMethods["count"](Array.from(iterate(range)), args, run),
};

export const intMethods: Readonly<Record<string, Method<bigint>>> = {
  bit_length: (value) => (value === 0n ? 0n : BigInt((value < 0n ? -value : value).toString(2).length)),
  bit_count: (value) => BigInt((value < 0n ? -value : value).toString(2).replaceAll("0", "").length),
  conjugate: (value) => value,
};

export const floatMethods: Readonly<Record<string, Method<number>>> = {
  is_integer: (value) => Number.isInteger(value),
  conjugate: (value) => value,
};

/** Methods that would change their object; templates cannot access them. */
export const changing: Readonly<Record<"list" | "dict", ReadonlySet<string>>> = {
  list: new Set(["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"]),
  dict: new Set(["clear", "pop", "popitem", "setdefault", "update"]),
};
