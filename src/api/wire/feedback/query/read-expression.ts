// Converts a query in the feedback query language, `{"$expr": <operation>}`, to a condition. Anything outside the
// language is a fault of shape; an operation that the language has, but this server lacks, is unsupported. The error
// lists all faults of shape or, if there are none, all unsupported operations.
import {
  all,
  asCondition,
  compare,
  constant,
  contains,
  convert,
  isOneOf,
  itemCount,
  not,
  type ConvertedTo,
} from "../../../../base/domain/feedback-query/make-condition.ts";
import { always, type Condition, type Expression } from "../../../../base/domain/feedback-query/condition.ts";
import type { QueryLimits } from "../../../../base/domain/feedback-query/query-limits.ts";
import { ServiceError, type Fault } from "../../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../../base/validation/findings.ts";
import { fieldNamed } from "./record-fields.ts";
import { newQueryBudget, type QueryBudget } from "./query-budget.ts";

export interface ReadExpression {
  /** Condition that the query expresses. Valid only if the findings have no fault and `refusals` is empty. */
  readonly condition: Condition;
  /**
   * Faults for operations of the language that this server does not support; empty if the query has faults of shape.
   */
  readonly refusals: readonly Fault[];
}

/**
 * Reads a query in the feedback query language.
 *
 * @param query value of a member of the body; the findings' current path is the path of this member
 * @param findings receives the faults of shape
 */
export function readExpression(query: unknown, findings: Findings, limits: QueryLimits): ReadExpression {
  const reader = new ExpressionReader(findings, newQueryBudget(limits));
  const before = findings.faultCount;
  const condition = reader.readQuery(query);
  return { condition, refusals: findings.faultCount > before ? [] : reader.refusals };
}

/** Expression that takes the place of an invalid part of the query, so that the parts around it are still checked. */
const refused: Expression = constant(null);

type OperationReader = (reader: ExpressionReader, value: unknown) => Expression;

const operations: ReadonlyMap<string, OperationReader> = new Map<string, OperationReader>([
  ["$and", (reader, value) => reader.joined("and", value)],
  ["$or", (reader, value) => reader.joined("or", value)],
  ["$not", (reader, value) => reader.negated(value)],
  ["$eq", (reader, value) => reader.compared("eq", value)],
  ["$gt", (reader, value) => reader.compared("gt", value)],
  ["$gte", (reader, value) => reader.compared("gte", value)],
  ["$lt", (reader, value) => reader.compared("lt", value)],
  ["$lte", (reader, value) => reader.compared("lte", value)],
  ["$in", (reader, value) => reader.oneOf(value)],
  ["$contains", (reader, value) => reader.containing(value)],
]);

const operands: ReadonlyMap<string, OperationReader> = new Map<string, OperationReader>([
  ["$literal", (reader, value) => reader.literal(value)],
  ["$getField", (reader, value) => reader.field(value)],
  ["$convert", (reader, value) => reader.converted(value)],
  ["$size", (reader, value) => reader.size(value)],
]);

const operationNames = [...operations.keys()].join(", ");
const operandNames = [...operands.keys()].join(", ");
const conversions: readonly string[] = ["double", "string", "int", "bool", "exists"];

class ExpressionReader {
  readonly refusals: Fault[] = [];
  readonly #findings: Findings;
  readonly #budget: QueryBudget;

  constructor(findings: Findings, budget: QueryBudget) {
    this.#findings = findings;
    this.#budget = budget;
  }

  readQuery(query: unknown): Condition {
    const members = this.#members(query, ["$expr"]);
    if (members === null) return always;
    return this.#inside("$expr", () => this.#condition(this.#operation(members["$expr"], false)));
  }

  joined(kind: "and" | "or", value: unknown): Expression {
    const items = this.#list(value, null);
    if (items === null) return refused;
    if (items.length === 0)
      return this.#refuse(`$${kind} has no operands; give it one at least, or leave it out.`);
    return all(
      kind,
      this.#each(items, (item) => this.#condition(this.#operand(item))),
    );
  }

  negated(value: unknown): Expression {
    const items = this.#list(value, 1);
    if (items === null) return refused;
    return not(this.#each(items, (item) => this.#condition(this.#operand(item)))[0]);
  }

  compared(operator: "eq" | "gt" | "gte" | "lt" | "lte", value: unknown): Expression {
    const items = this.#list(value, 2);
    if (items === null) return refused;
    const [left, right] = this.#each(items, (item) => this.#operand(item));
    return this.#made(() => compare(operator, left, right));
  }

  oneOf(value: unknown): Expression {
    const items = this.#list(value, 2);
    if (items === null) return refused;
    const input = this.#inside("0", () => this.#operand(items[0]));
    const options = this.#inside("1", () => {
      const list = this.#list(items[1], null);
      return list === null ? [] : this.#each(list, (item) => this.#operand(item));
    });
    return this.#made(() => isOneOf(input, options));
  }

  containing(value: unknown): Expression {
    const members = this.#members(value, ["input", "substr"], ["case_insensitive"]);
    if (members === null) return refused;
    const input = this.#inside("input", () => this.#operand(members["input"]));
    const substring = this.#inside("substr", () => this.#operand(members["substr"]));
    const ignoresCase = members["case_insensitive"] ?? false;
    if (typeof ignoresCase !== "boolean") {
      report(this.#findings, "bool_type", "Input should be a valid boolean", "case_insensitive");
      return refused;
    }
    return this.#made(() => contains(input, substring, ignoresCase));
  }

  literal(value: unknown): Expression {
    if (!this.#made(() => this.#budget.takeLiteral(value), false)) return refused;
    if (
      value === null ||
      typeof value === "string" ||
      typeof value === "number" ||
      typeof value === "boolean"
    )
      return constant(value);
    const what = Array.isArray(value) ? "a list" : "an object";
    return this.#refuse(
      `The literal is ${what}, which cannot be compared; name its values by a path, or use $in.`,
    );
  }

  field(value: unknown): Expression {
    if (typeof value !== "string") return this.#misshapen("string_type", "Input should be a valid string");
    return this.#made(() => ({ kind: "field", field: fieldNamed(value) }));
  }

  converted(value: unknown): Expression {
    const members = this.#members(value, ["input", "to"]);
    if (members === null) return refused;
    const input = this.#inside("input", () => this.#operand(members["input"]));
    const to = members["to"];
    if (!isConversion(to)) {
      const message = `Input should be ${conversions.map((name) => `'${name}'`).join(", ")}`;
      report(this.#findings, "literal_error", message, "to");
      return refused;
    }
    return this.#made(() => convert(input, to));
  }

  size(value: unknown): Expression {
    const input = this.#operand(value);
    return this.#made(() => itemCount(input));
  }

  #condition(expression: Expression): Condition {
    const condition = this.#made(() => asCondition(expression));
    // Safe cast: a refused part is replaced by the constant null, which is a valid condition.
    return condition as Condition;
  }

  #operand(value: unknown): Expression {
    return this.#operation(value, true);
  }

  /** Reads an operation. If `mayBeOperand` is true, the value may also be an operand. */
  #operation(value: unknown, mayBeOperand: boolean): Expression {
    const names = isObject(value) ? Object.keys(value) : [];
    const [name = ""] = names;
    const read = operations.get(name) ?? (mayBeOperand ? operands.get(name) : undefined);
    if (!isObject(value) || names.length !== 1 || read === undefined) {
      const known = mayBeOperand ? `${operandNames}, ${operationNames}` : operationNames;
      const found = names.length > 1 ? `; it has ${names.length}` : "";
      return this.#misshapen("query_operation", `Input should be an object with one of ${known}${found}`);
    }
    if (!this.#made(() => this.#budget.enter(), false)) return refused;
    try {
      return this.#inside(name, () => read(this, value[name]));
    } finally {
      this.#budget.leave();
    }
  }

  /** Returns the object if it has every required member and no unknown one. Otherwise adds faults and returns null. */
  #members(
    value: unknown,
    required: readonly string[],
    optional: readonly string[] = [],
  ): Readonly<Record<string, unknown>> | null {
    if (!isObject(value)) {
      this.#misshapen("dict_type", "Input should be a valid dictionary");
      return null;
    }
    const before = this.#findings.faultCount;
    for (const name of required)
      if (!Object.hasOwn(value, name)) report(this.#findings, "missing", "Field required", name);
    for (const name of Object.keys(value)) {
      if (required.includes(name) || optional.includes(name)) continue;
      report(this.#findings, "extra_forbidden", "Extra inputs are not permitted", name);
    }
    return this.#findings.faultCount > before ? null : value;
  }

  #list(value: unknown, length: number | null): readonly unknown[] | null {
    if (Array.isArray(value) && (length === null || value.length === length)) return value;
    const size = length === null ? "" : ` of ${length}`;
    const found = Array.isArray(value) ? `; it has ${value.length}` : "";
    this.#misshapen("list_type", `Input should be a valid list${size}${found}`);
    return null;
  }

  #each<Result>(items: readonly unknown[], read: (item: unknown) => Result): readonly Result[] {
    return items.map((item, index) => this.#inside(String(index), () => read(item)));
  }

  #inside<Result>(name: string, read: () => Result): Result {
    this.#findings.path.push(name);
    const result = read();
    this.#findings.path.pop();
    return result;
  }

  #misshapen(type: string, message: string): Expression {
    report(this.#findings, type, message);
    return refused;
  }

  /**
   * Returns the result of `make`. If `make` throws `unsupported`, adds a refusal at the current path and returns a
   * placeholder.
   */
  #made(make: () => Expression): Expression;
  #made<Result>(make: () => Result, otherwise: Result): Result;
  #made<Result>(make: () => Result, otherwise?: Result): Result | Expression {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "unsupported") throw error;
      const refusal = this.#refuse(error.message);
      return otherwise ?? refusal;
    }
  }

  #refuse(message: string): Expression {
    this.refusals.push({ location: [...this.#findings.path], message, type: "query" });
    return refused;
  }
}

function isConversion(to: unknown): to is ConvertedTo {
  return typeof to === "string" && conversions.includes(to);
}
