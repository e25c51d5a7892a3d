// All tests for Jinja's `is` operator.
import type { Budget } from "../budget.ts";
import { formatPercent } from "../format/percent.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import type { Test } from "../run/run.ts";
import { isLower, isUpper } from "../methods/text-methods.ts";
import { calculate } from "../values/arithmetic.ts";
import {
  contains,
  equals,
  isCallable,
  isIterable,
  isOrdered,
  numberOf,
  type Order,
} from "../values/compare.ts";
import { textOf } from "../values/show.ts";
import { Dict, isList, Range, Tuple, Undefined, type Value } from "../values/value.ts";
import { filters } from "./filters.ts";

const unaryTests: Readonly<Record<string, (value: Value) => boolean>> = {
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  none: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  true: (value) => value === true,
  false: (value) => value === false,
  integer: (value) => typeof value === "bigint",
  float: (value) => typeof value === "number",
  number: (value) => numberOf(value) !== null,
  string: (value) => typeof value === "string",
  mapping: (value) => value instanceof Dict,
  sequence: (value) =>
    typeof value === "string" ||
    isList(value) ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof Range ||
    value instanceof Undefined,
  iterable: isIterable,
  callable: isCallable,
  escaped: () => false,
};

const ordered = (order: Order): Test => {
  return (value, args, { budget }) =>
    isOrdered(value, order, new Arguments(order, args, "other").get("other") ?? null, budget);
};

const same: Test = (value, args, { budget }) =>
  equals(value, new Arguments("eq", args, "other").get("other") ?? null, budget);
const other: Test = (value, args, run) => !same(value, args, run);

export const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...Object.entries(unaryTests).map(([name, holds]): [string, Test] => [
    name,
    (value, args) => {
      requireNone(name, args);
      return holds(value);
    },
  ]),
  ["lower", (value, _args, { budget }) => isLower(textOf(value, budget))],
  ["upper", (value, _args, { budget }) => isUpper(textOf(value, budget))],
  ["odd", (value, _args, { budget }) => equals(remainder(value, 2n, budget), 1n, budget)],
  ["even", (value, _args, { budget }) => equals(remainder(value, 2n, budget), 0n, budget)],
  [
    "divisibleby",
    (value, args, { budget }) => {
      const number = new Arguments("divisibleby", args, "num").get("num") ?? null;
      return equals(remainder(value, number, budget), 0n, budget);
    },
  ],
  ["sameas", (value, args) => value === new Arguments("sameas", args, "other").get("other")],
  [
    "in",
    (value, args, { budget }) => contains(new Arguments("in", args, "seq").get("seq") ?? null, value, budget),
  ],
  ["filter", (value) => typeof value === "string" && filters.has(value)],
  ["test", (value) => typeof value === "string" && tests.has(value)],
  ...["==", "eq", "equalto"].map((name): [string, Test] => [name, same]),
  ...["!=", "ne"].map((name): [string, Test] => [name, other]),
  ...["<", "lt", "lessthan"].map((name): [string, Test] => [name, ordered("<")]),
  ...["<=", "le"].map((name): [string, Test] => [name, ordered("<=")]),
  ...[">", "gt", "greaterthan"].map((name): [string, Test] => [name, ordered(">")]),
  ...[">=", "ge"].map((name): [string, Test] => [name, ordered(">=")]),
]);

/** Computes `value % divisor`. If the value is a text, `%` formats the divisor into it. */
function remainder(value: Value, divisor: Value, budget: Budget): Value {
  return typeof value === "string"
    ? formatPercent(value, divisor, budget)
    : calculate(value, "%", divisor, budget);
}
