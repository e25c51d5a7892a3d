// Evaluates expressions.
import { TemplateFault } from "../fault.ts";
import { formatPercent } from "../format/percent.ts";
import type { CallNode, Comparison, Expression } from "../syntax/nodes.ts";
import { calculate, negated, signed, type Operator } from "../values/arithmetic.ts";
import {
  contains,
  equals,
  hashableKey,
  isOrdered,
  isTrue,
  iterate,
  requireDefined,
} from "../values/compare.ts";
import { sliceOf } from "../methods/attributes.ts";
import { concatMarkup, withoutMarkup, textOf, typeName } from "../values/show.ts";
import { Dict, Tuple, Undefined, type CallArguments, type Value } from "../values/value.ts";
import type { Run } from "./run.ts";
import type { Scope } from "./scope.ts";

type Kind = Expression["kind"];
type Of<K extends Kind> = Expression & { readonly kind: K };

/** A run that tracks its position. */
export interface ExpressionRun extends Run {
  /** Line of the current expression, for messages. */
  line: number;
  /** Text of the enclosing filter block (`{% filter … %}`). A filter without an object is applied to this text. */
  readonly blockText: string;
}

/**
 * Evaluates an expression and drops the mark that its value is HTML.
 *
 * @throws TemplateFault, and the errors of the run's limits
 */
export function evaluate(node: Expression, scope: Scope, run: ExpressionRun): Value {
  return withoutMarkup(evaluateMarked(node, scope, run));
}

/** Like {@link evaluate}, but keeps the HTML mark, for a value that is stored or concatenated. */
export function evaluateMarked(node: Expression, scope: Scope, run: ExpressionRun): Value {
  run.budget.spend();
  run.line = node.line;
  // Safe cast: the rule of a kind takes nodes of this kind.
  const rule = rules[node.kind] as (node: Expression, scope: Scope, run: ExpressionRun) => Value;
  return rule(node, scope, run);
}

const rules: { readonly [K in Kind]: (node: Of<K>, scope: Scope, run: ExpressionRun) => Value } = {
  constant: ({ value }) => value,
  name: ({ name }, scope) => {
    const value = scope.get(name);
    return value === undefined ? new Undefined(`'${name}' is undefined`) : value;
  },
  "namespace-member": ({ name, member }, scope, run) => run.attribute(scope.get(name) ?? null, member),
  list: ({ items }, scope, run) => items.map((item) => evaluate(item, scope, run)),
  tuple: ({ items }, scope, run) => new Tuple(items.map((item) => evaluate(item, scope, run))),
  dict: ({ entries }, scope, run) => {
    const dict = new Dict();
    for (const [key, value] of entries)
      dict.set(hashableKey(evaluate(key, scope, run)), evaluate(value, scope, run));
    return dict;
  },
  attribute: ({ object, name, line }, scope, run) => {
    const value = evaluate(object, scope, run);
    run.line = line;
    return run.attribute(value, name);
  },
  item: ({ object, key, line }, scope, run) => {
    const value = evaluate(object, scope, run);
    if (key.kind === "slice") return slice(value, key, scope, run);
    const index = evaluate(key, scope, run);
    run.line = line;
    return run.item(value, index);
  },
  slice: () => {
    throw new TemplateFault("a slice must be the only subscript");
  },
  call: ({ callee, args, line }, scope, run) => {
    const called = evaluate(callee, scope, run);
    const given = callArguments(args, scope, run);
    run.line = line;
    return run.call(called, given);
  },
  filter: ({ object, name, args, line }, scope, run) => {
    const marked = object === null ? run.blockText : evaluateMarked(object, scope, run);
    const value = escapingFilters.has(name) ? marked : withoutMarkup(marked);
    const given = callArguments(args, scope, run);
    run.line = line;
    return run.filter(name, value, given);
  },
  test: ({ object, name, args, line }, scope, run) => {
    const value = evaluate(object, scope, run);
    const given = callArguments(args, scope, run);
    run.line = line;
    return run.test(name, value, given);
  },
  not: ({ operand }, scope, run) => !isTrue(evaluate(operand, scope, run)),
  sign: ({ sign, operand }, scope, run) => {
    const value = evaluate(operand, scope, run);
    return sign === "-" ? negated(value) : signed(value, sign);
  },
  binary: ({ operator, left, right, line }, scope, run) => {
    const [first, second] = [evaluateMarked(left, scope, run), evaluateMarked(right, scope, run)];
    run.line = line;
    if (operator === "+") {
      const sum = concatMarkup(first, second, run.budget);
      if (sum !== null) return sum;
    }
    return combined(withoutMarkup(first), operator, withoutMarkup(second), run);
  },
  and: ({ left, right }, scope, run) => {
    const value = evaluateMarked(left, scope, run);
    return isTrue(withoutMarkup(value)) ? evaluateMarked(right, scope, run) : value;
  },
  or: ({ left, right }, scope, run) => {
    const value = evaluateMarked(left, scope, run);
    return isTrue(withoutMarkup(value)) ? value : evaluateMarked(right, scope, run);
  },
  compare: ({ first, rest }, scope, run) => {
    let left = evaluate(first, scope, run);
    for (const { operator, operand } of rest) {
      const right = evaluate(operand, scope, run);
      if (!holds(left, operator, right, run)) return false;
      left = right;
    }
    return true;
  },
  concatenation: ({ parts }, scope, run) => {
    let text = "";
    for (const part of parts) text = run.budget.text(text + textOf(evaluate(part, scope, run), run.budget));
    return text;
  },
  conditional: ({ test, value, otherwise, line }, scope, run) => {
    if (isTrue(evaluate(test, scope, run))) return evaluateMarked(value, scope, run);
    if (otherwise !== null) return evaluateMarked(otherwise, scope, run);
    return new Undefined(
      `the inline if-expression on line ${line} evaluated to false and no else section was defined.`,
    );
  },
};

/** Filters whose result stays marked as HTML. */
const escapingFilters: ReadonlySet<string> = new Set(["escape", "e", "d", "default"]);

function combined(left: Value, operator: Operator, right: Value, { budget }: Run): Value {
  if (operator === "%" && typeof left === "string") return formatPercent(left, right, budget);
  return calculate(left, operator, right, budget);
}

function slice(
  value: Value,
  { start, stop, step, line }: Of<"slice">,
  scope: Scope,
  run: ExpressionRun,
): Value {
  const bound = (node: Expression | null): Value => (node === null ? null : evaluate(node, scope, run));
  const bounds = { start: bound(start), stop: bound(stop), step: bound(step) };
  run.line = line;
  requireDefined(value);
  const sliced = sliceOf(value, bounds, run.budget);
  if (sliced === undefined) throw new TemplateFault(`'${typeName(value)}' object cannot be sliced`);
  return sliced;
}

export function callArguments(args: CallNode, scope: Scope, run: ExpressionRun): CallArguments {
  const { positional, named, spread, namedSpread } = args;
  const values = positional.map((node) => evaluate(node, scope, run));
  if (spread !== null) {
    for (const item of iterate(evaluate(spread, scope, run), "Value after * must be an iterable, not")) {
      values.push(item);
      run.budget.spend();
      run.budget.require(values.length);
    }
  }
  const members = new Map(named.map(([name, node]) => [name, evaluate(node, scope, run)]));
  if (namedSpread !== null) {
    const more = evaluate(namedSpread, scope, run);
    if (!(more instanceof Dict)) throw new TemplateFault("the value after ** must be a mapping");
    for (const [key, value] of more.entries()) {
      if (typeof key !== "string") throw new TemplateFault("keywords must be strings");
      if (members.has(key)) throw new TemplateFault(`got multiple values for keyword argument '${key}'`);
      members.set(key, value);
    }
  }
  return { positional: values, named: members };
}

function holds(left: Value, operator: Comparison["operator"], right: Value, { budget }: Run): boolean {
  switch (operator) {
    case "==":
      return equals(left, right, budget);
    case "!=":
      return !equals(left, right, budget);
    case "in":
      return contains(right, left, budget);
    case "not in":
      return !contains(right, left, budget);
    default:
      return isOrdered(left, operator, right, budget);
  }
}
