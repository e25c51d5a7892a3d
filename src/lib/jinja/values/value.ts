// The values of a template, which correspond to Python's. An int is a bigint, a float a number, a str a string, None
// null, and a list an array. Classes in this module represent values without a counterpart in JavaScript.

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Value[]
  | Tuple
  | Dict
  | DictView
  | Range
  | Stream
  | Undefined
  | Markup
  | Host
  | Callable;

export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** A pair with named members, from the filter `groupby`. */
export class Group extends Tuple {
  readonly grouper: Value;
  readonly list: Value[];

  constructor(grouper: Value, list: Value[]) {
    super([grouper, list]);
    this.grouper = grouper;
    this.list = list;
  }
}

/** A dict, in the order in which keys were first set. Keys that Python considers equal are one key: 1, 1.0 and True. */
export class Dict {
  readonly #entries = new Map<unknown, readonly [Value, Value]>();

  static of(entries: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(key, value);
    return dict;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of a key; undefined if it is missing. */
  get(key: Value): Value | undefined {
    return this.#entries.get(hashed(key))?.[1];
  }

  has(key: Value): boolean {
    return this.#entries.has(hashed(key));
  }

  set(key: Value, value: Value): void {
    const hash = hashed(key);
    this.#entries.set(hash, [this.#entries.get(hash)?.[0] ?? key, value]);
  }

  keys(): Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), ([, value]) => value);
  }

  entries(): IterableIterator<readonly [Value, Value]> {
    return this.#entries.values();
  }
}

/** View of a dict, returned by its `keys()`, `values()` or `items()`. */
export class DictView {
  readonly dict: Dict;
  readonly kind: "keys" | "values" | "items";

  constructor(dict: Dict, kind: DictView["kind"]) {
    this.dict = dict;
    this.kind = kind;
  }
}

export class Range {
  readonly start: bigint;
  readonly stop: bigint;
  readonly step: bigint;
  readonly length: number;

  /** @param bounds must have a step other than 0 */
  constructor({
    start,
    stop,
    step,
  }: {
    readonly start: bigint;
    readonly stop: bigint;
    readonly step: bigint;
  }) {
    this.start = start;
    this.stop = stop;
    this.step = step;
    const span = step > 0n ? stop - start : start - stop;
    const stride = step > 0n ? step : -step;
    this.length = span <= 0n ? 0 : Number((span + stride - 1n) / stride);
  }

  at(index: number): bigint {
    return this.start + BigInt(index) * this.step;
  }
}

/** An iterator that can be read only once, such as the result of the filter `map`. */
export class Stream {
  readonly iterator: Iterator<Value>;
  /** Name of the iterator's Python type. */
  readonly kind: string;

  constructor(iterator: Iterator<Value>, kind = "generator") {
    this.iterator = iterator;
    this.kind = kind;
  }
}

/** An undefined value. It prints as nothing, counts as false, and throws an error in any other use. */
export class Undefined {
  /** Error message when the value is used. */
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** A str that is already HTML. Text that is added to it is escaped first; all other operations use it like any str. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object with attributes, such as `loop` and namespaces. */
export abstract class Host {
  /** Name of the object's Python class. */
  abstract readonly typeName: string;

  /** Returns an attribute; undefined if it does not exist. */
  abstract attribute(name: string): Value | undefined;

  /** Returns the object's `repr`. */
  shown(): string {
    return `<${this.typeName} object>`;
  }
}

export class Namespace extends Host {
  readonly typeName = "Namespace";
  readonly members: Map<string, Value>;

  constructor(members: Map<string, Value>) {
    super();
    this.members = members;
  }

  attribute(name: string): Value | undefined {
    return this.members.get(name);
  }
}

/** Arguments of a call. */
export interface CallArguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

export class Callable {
  readonly name: string;
  readonly invoke: (args: CallArguments) => Value;
  /** Attributes of the callable; methods and functions have none. */
  readonly attributes: ReadonlyMap<string, Value>;
  /** Result of subscripting a class with any type parameter; null if it takes none. */
  readonly parametrized: Callable | null;
  /** Name of the callable's Python class. */
  readonly typeName: string;

  constructor(
    name: string,
    invoke: Callable["invoke"],
    {
      attributes = new Map(),
      parametrized = null,
      typeName = "function",
    }: Partial<Pick<Callable, "attributes" | "parametrized" | "typeName">> = {},
  ) {
    this.name = name;
    this.invoke = invoke;
    this.attributes = attributes;
    this.parametrized = parametrized;
    this.typeName = typeName;
  }
}

export function isList(value: Value): value is Value[] {
  return Array.isArray(value);
}

/** Returns a hash; two keys have the same hash exactly if they are equal. */
export function hashed(key: Value): unknown {
  if (typeof key === "boolean") return key ? 1n : 0n;
  if (typeof key === "number" && Number.isInteger(key)) return BigInt(key);
  // All undefined values are equal, as in Python.
  if (key instanceof Undefined) return Undefined;
  if (key instanceof Tuple) return `\u0000tuple ${key.items.map(tupleItemHash).join("\u0000")}`;
  return key;
}

function tupleItemHash(item: Value): string {
  const hash = hashed(item);
  return `${typeof hash} ${String(hash)}`;
}

/** True if a value can be a dict key. */
export function isHashable(value: Value): boolean {
  if (value instanceof Tuple) return value.items.every(isHashable);
  return !isList(value) && !(value instanceof Dict);
}
