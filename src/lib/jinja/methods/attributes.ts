// `value.name` and `value[key]` as Jinja's sandbox has them: an attribute before a member, or a member before an attribute.
import { TemplateFault } from "../fault.ts";
import type { Method, Run } from "../run/run.ts";
import { itemOf } from "../values/items.ts";
import { objectName, reprOf, typeName } from "../values/show.ts";
import { Callable, Dict, Group, Host, isList, Range, Tuple, Undefined, type Value } from "../values/value.ts";
import {
  changing,
  dictMethods,
  floatMethods,
  intMethods,
  listMethods,
  rangeMethods,
  sequenceMethods,
} from "./collection-methods.ts";
import { textMethods } from "./text-methods.ts";

/** @throws TemplateFault where `value` is not defined */
export function attributeOf(value: Value, name: string, run: Run): Value {
  if (value instanceof Undefined) throw new TemplateFault(value.message);
  const own = ownAttribute(value, name, run);
  if (own !== undefined) return own;
  const item = memberOf(value, name);
  return item === undefined ? missing(value, name, run) : item;
}

/** @throws TemplateFault where `value` is not defined */
export function subscriptOf(value: Value, key: Value, run: Run): Value {
  if (value instanceof Undefined) throw new TemplateFault(value.message);
  const item = memberOf(value, key);
  if (item !== undefined) return item;
  const own = typeof key === "string" ? ownAttribute(value, key, run) : undefined;
  return own === undefined ? missing(value, key, run) : own;
}

function memberOf(value: Value, key: Value): Value | undefined {
  return value instanceof Callable ? (value.parametrized ?? undefined) : itemOf(value, key);
}

function missing(value: Value, key: Value, { budget }: Run): Undefined {
  const name = objectName(value);
  if (typeof key === "string") return new Undefined(`'${name}' has no attribute '${key}'`);
  return new Undefined(`${name} has no element ${reprOf(key, budget)}`);
}

/** Undefined where its Python type has no such attribute; what is not defined where a template may not use it. */
function ownAttribute(value: Value, name: string, run: Run): Value | undefined {
  if (/^__\w+__$/.test(name)) return unsafe(value, name);
  if (value instanceof Host) return name.startsWith("_") ? undefined : value.attribute(name);
  if (value instanceof Callable) return value.attributes.get(name);
  if (typeof value === "string") return bound(textMethods, value, name, run);
  if (isList(value))
    return changing.list.has(name) ? unsafe(value, name) : bound(listMethods, value, name, run);
  if (value instanceof Dict)
    return changing.dict.has(name) ? unsafe(value, name) : bound(dictMethods, value, name, run);
  if (value instanceof Group && (name === "grouper" || name === "list")) return value[name];
  if (value instanceof Tuple) return bound(sequenceMethods, value.items, name, run);
  if (value instanceof Range) return rangeAttribute(value, name, run);
  if (typeof value === "boolean") return numberAttribute(BigInt(value), name, run);
  if (typeof value === "bigint" || typeof value === "number") return numberAttribute(value, name, run);
  return undefined;
}

function bound<Self>(
  methods: Readonly<Record<string, Method<Self>>>,
  self: Self,
  name: string,
  run: Run,
): Value | undefined {
  if (!Object.hasOwn(methods, name)) return undefined;
  const method = methods[name];
  return new Callable(name, (args) => method(self, args, run), { typeName: "builtin_function_or_method" });
}

function rangeAttribute(range: Range, name: string, run: Run): Value | undefined {
  if (name === "start" || name === "stop" || name === "step") return range[name];
  return bound(rangeMethods, range, name, run);
}

function numberAttribute(value: bigint | number, name: string, run: Run): Value | undefined {
  if (name === "real") return value;
  if (name === "imag") return typeof value === "bigint" ? 0n : 0;
  if (typeof value === "number") return bound(floatMethods, value, name, run);
  if (name === "numerator") return value;
  return name === "denominator" ? 1n : bound(intMethods, value, name, run);
}

function unsafe(value: Value, name: string): Undefined {
  return new Undefined(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`);
}
