// Filters of lists and other values with items.
import { TemplateFault } from "../fault.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import type { Filter, Run } from "../run/run.ts";
import { calculate } from "../values/arithmetic.ts";
import {
  equals,
  hashableKey,
  isOrdered,
  isTrue,
  iterate,
  lengthOf,
  listOf,
  requireDefined,
} from "../values/compare.ts";
import { charactersOf } from "../values/characters.ts";
import { textOf, typeName } from "../values/show.ts";
import {
  Dict,
  DictView,
  Group,
  hashed,
  isList,
  Stream,
  Tuple,
  Undefined,
  type CallArguments,
  type Value,
} from "../values/value.ts";
import { keyOf, keysOf, withoutCase, type KeyOf } from "./item-keys.ts";

export const itemFilters: Readonly<Record<string, Filter>> = {
  length: (value, args) => count("length", value, args),
  count: (value, args) => count("count", value, args),
  list: (value, args, { budget }) => {
    requireNone("list", args);
    return listOf(value, budget);
  },
  first: (value, args) => {
    requireNone("first", args);
    const next = iterate(value).next();
    return next.done === true ? new Undefined("No first item, sequence was empty.") : next.value;
  },
  last: (value, args, { budget }) => {
    requireNone("last", args);
    if (value instanceof Stream) throw notReversible(value);
    const last = listOf(value, budget).at(-1);
    return last === undefined ? new Undefined("No last item, sequence was empty.") : last;
  },
  random: (value, args, { budget }) => {
    requireNone("random", args);
    // Takes the first item instead of a random one, so that a prompt is always the same.
    const first = listOf(value, budget).at(0);
    return first === undefined ? new Undefined("No random item, sequence was empty.") : first;
  },
  reverse: (value, args, { budget }) => {
    requireNone("reverse", args);
    if (typeof value === "string") return [...charactersOf(value)].reverse().join("");
    const items = listOf(value, budget).reverse();
    if (value instanceof Stream) return items;
    return new Stream(items[Symbol.iterator](), isList(value) ? "list_reverseiterator" : "reversed");
  },
  join: (value, args, run) => {
    const asked = new Arguments("join", args, "| d attribute");
    const separator = textOf(asked.getOr("d", ""), run.budget);
    const key = keyOf(asked.get("attribute") ?? null, run);
    const pieces: string[] = [];
    let length = 0;
    for (const item of iterate(value)) {
      const piece = textOf(key(item), run.budget);
      length += piece.length + separator.length;
      run.budget.spend();
      run.budget.require(length - separator.length);
      pieces.push(piece);
    }
    return pieces.join(separator);
  },
  sort: (value, args, run) => {
    const asked = new Arguments("sort", args, "| reverse case_sensitive attribute");
    const options = { ignoresCase: !asked.flag("case_sensitive") };
    const key = keysOf(asked.get("attribute") ?? null, run, options);
    return sorted(listOf(value, run.budget), key, asked.flag("reverse"), run);
  },
  dictsort: (value, args, run) => {
    const asked = new Arguments("dictsort", args, "| case_sensitive by reverse");
    const by = asked.text("by", "key");
    if (by !== "key" && by !== "value")
      throw new TemplateFault('You can only sort by either "key" or "value"');
    requireDefined(value);
    if (!(value instanceof Dict))
      throw new TemplateFault(`'${typeName(value)}' object has no attribute 'items'`);
    const entries = Array.from(value.entries(), (entry) => new Tuple(entry));
    const key = (item: Value): Value => {
      const part = item instanceof Tuple ? item.items[by === "key" ? 0 : 1] : null;
      return asked.flag("case_sensitive") ? part : withoutCase(part);
    };
    return sorted(entries, key, asked.flag("reverse"), run);
  },
  unique: (value, args, run) => {
    const asked = new Arguments("unique", args, "| case_sensitive attribute");
    const options = { ignoresCase: !asked.flag("case_sensitive") };
    return new Stream(unique(value, keyOf(asked.get("attribute") ?? null, run, options)));
  },
  min: (value, args, run) => extreme("min", value, args, run),
  max: (value, args, run) => extreme("max", value, args, run),
  sum: (value, args, run) => {
    const asked = new Arguments("sum", args, "| attribute start");
    const key = keyOf(asked.get("attribute") ?? null, run);
    let total: Value = asked.getOr("start", 0n);
    if (typeof total === "string")
      throw new TemplateFault("sum() can't sum strings [use ''.join(seq) instead]");
    for (const item of iterate(value)) {
      run.budget.spend();
      total = calculate(total, "+", key(item), run.budget);
    }
    return total;
  },
  groupby: (value, args, run) => {
    const asked = new Arguments("groupby", args, "attribute | default case_sensitive");
    const isCaseSensitive = asked.flag("case_sensitive");
    const [attribute, otherwise] = [asked.get("attribute") ?? null, asked.get("default") ?? null];
    const key = keyOf(attribute, run, { otherwise, ignoresCase: !isCaseSensitive });
    const shown = keyOf(attribute, run, { otherwise });
    const groups: { readonly key: Value; readonly items: Value[] }[] = [];
    for (const item of sorted(listOf(value, run.budget), key, false, run)) {
      const last = groups.at(-1);
      if (last !== undefined && equals(last.key, key(item), run.budget)) last.items.push(item);
      else groups.push({ key: key(item), items: [item] });
    }
    return groups.map(({ items }) => new Group(shown(items[0]), items));
  },
  batch: (value, args, { budget }) => {
    const asked = new Arguments("batch", args, "linecount | fill_with");
    const size = asked.int("linecount");
    budget.room(Math.max(0, size));
    return new Stream(batches(value, size, asked.get("fill_with") ?? null));
  },
  slice: (value, args, { budget }) => {
    const asked = new Arguments("slice", args, "slices | fill_with");
    const slices = asked.int("slices");
    if (slices === 0) throw new TemplateFault("integer division or modulo by zero");
    budget.room(Math.max(0, slices));
    return new Stream(slicesOf(listOf(value, budget), slices, asked.get("fill_with") ?? null));
  },
  items: (value, args) => {
    requireNone("items", args);
    if (value instanceof Undefined) return new Stream([][Symbol.iterator]());
    if (!(value instanceof Dict)) throw new TemplateFault("Can only get item pairs from a mapping.");
    return new Stream(iterate(new DictView(value, "items")));
  },
  map: (value, args, run) => new Stream(mapped(value, args, run)),
  select: (value, args, run) => new Stream(selected(value, args, run, { byAttribute: false, wanted: true })),
  reject: (value, args, run) => new Stream(selected(value, args, run, { byAttribute: false, wanted: false })),
  selectattr: (value, args, run) =>
    new Stream(selected(value, args, run, { byAttribute: true, wanted: true })),
  rejectattr: (value, args, run) =>
    new Stream(selected(value, args, run, { byAttribute: true, wanted: false })),
};

function count(name: string, value: Value, args: CallArguments): bigint {
  requireNone(name, args);
  const length = lengthOf(value);
  if (length === null) throw new TemplateFault(`object of type '${typeName(value)}' has no len()`);
  return BigInt(length);
}

function notReversible(value: Value): TemplateFault {
  return new TemplateFault(`'${typeName(value)}' object is not reversible`);
}

function sorted(items: readonly Value[], key: KeyOf, isReversed: boolean, { budget }: Run): Value[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  keyed.sort((left, right) => {
    const [first, second] = isReversed ? [right, left] : [left, right];
    if (isOrdered(first.key, "<", second.key, budget)) return -1;
    return isOrdered(second.key, "<", first.key, budget) ? 1 : 0;
  });
  return keyed.map(({ item }) => item);
}

function* unique(value: Value, key: KeyOf): Generator<Value> {
  const seen = new Set<unknown>();
  for (const item of iterate(value)) {
    const hash = hashed(hashableKey(key(item)));
    if (seen.has(hash)) continue;
    seen.add(hash);
    yield item;
  }
}

function extreme(name: "min" | "max", value: Value, args: CallArguments, run: Run): Value {
  const asked = new Arguments(name, args, "| case_sensitive attribute");
  const options = { ignoresCase: !asked.flag("case_sensitive") };
  const key = keyOf(asked.get("attribute") ?? null, run, options);
  let best: { readonly item: Value; readonly key: Value } | null = null;
  for (const item of iterate(value)) {
    const candidate = { item, key: key(item) };
    if (best === null || isOrdered(candidate.key, name === "min" ? "<" : ">", best.key, run.budget))
      best = candidate;
  }
  return best === null ? new Undefined("No aggregated item, sequence was empty.") : best.item;
}

function* batches(value: Value, size: number, fill: Value): Generator<Value> {
  let batch: Value[] = [];
  for (const item of iterate(value)) {
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
    batch.push(item);
  }
  if (batch.length === 0) return;
  if (fill !== null) while (batch.length < size) batch.push(fill);
  yield batch;
}

function* slicesOf(items: readonly Value[], count: number, fill: Value): Generator<Value> {
  const least = Math.floor(items.length / count);
  const longer = items.length - least * count;
  let start = 0;
  for (let index = 0; index < count; index++) {
    const end = start + least + (index < longer ? 1 : 0);
    const slice = items.slice(start, end);
    if (fill !== null && index >= longer) slice.push(fill);
    yield slice;
    start = end;
  }
}

function* mapped(value: Value, args: CallArguments, run: Run): Generator<Value> {
  if (!isTrue(value)) return;
  const change = changeOf(args, run);
  for (const item of iterate(value)) {
    run.budget.spend();
    yield change(item);
  }
}

function changeOf({ positional, named }: CallArguments, run: Run): KeyOf {
  const attribute = named.get("attribute");
  if (positional.length > 0 || attribute === undefined) {
    const [name, ...rest] = positional;
    if (name === undefined) throw new TemplateFault("map requires a filter argument");
    return (item) => run.filter(textOf(name, run.budget), item, { positional: rest, named });
  }
  const strange = Array.from(named.keys()).find((name) => name !== "attribute" && name !== "default");
  if (strange !== undefined) throw new TemplateFault(`Unexpected keyword argument '${strange}'`);
  return keyOf(attribute, run, { otherwise: named.get("default") ?? null });
}

interface Selection {
  readonly byAttribute: boolean;
  readonly wanted: boolean;
}

function* selected(
  value: Value,
  { positional, named }: CallArguments,
  run: Run,
  { byAttribute, wanted }: Selection,
): Generator<Value> {
  if (!isTrue(value)) return;
  if (byAttribute && positional.length === 0) throw new TemplateFault("Missing parameter for attribute name");
  const key = byAttribute ? keyOf(positional[0], run) : (item: Value) => item;
  const [name, ...rest] = byAttribute ? positional.slice(1) : positional;
  for (const item of iterate(value)) {
    run.budget.spend();
    const subject = key(item);
    const holds =
      name === undefined
        ? isTrue(subject)
        : run.test(textOf(name, run.budget), subject, { positional: rest, named });
    if (holds === wanted) yield item;
  }
}
