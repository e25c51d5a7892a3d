// Parses expressions with Jinja's precedence, from `x if y else z` down to names and literals.
import { TemplateFault } from "../fault.ts";
import type { Operator } from "../values/arithmetic.ts";
import type { CallNode, Comparison, Expression } from "./nodes.ts";
import type { TokenReader } from "./reader.ts";

/** Parses a whole expression. */
export function parseExpression(reader: TokenReader): Expression {
  let value = parseOr(reader);
  while (reader.isName("if")) {
    const { line } = reader.next();
    const test = parseOr(reader);
    const otherwise = reader.skipName("else") ? parseExpression(reader) : null;
    value = { kind: "conditional", line, test, value, otherwise };
  }
  return value;
}

export interface TupleOptions {
  /** Parses one item of the tuple; by default a whole expression. */
  readonly parseItem?: (reader: TokenReader) => Expression;
  /** Name that ends the tuple. */
  readonly endName?: string;
  /** True if the tuple may be empty, as between parentheses. */
  readonly mayBeEmpty?: boolean;
}

/** Parses one expression, or several expressions separated by commas, which form a tuple. */
export function parseTuple(
  reader: TokenReader,
  { parseItem = parseExpression, endName, mayBeEmpty = false }: TupleOptions = {},
): Expression {
  const { line } = reader;
  const items: Expression[] = [];
  let isTuple = false;
  while (!isTupleEnd(reader, endName)) {
    items.push(parseItem(reader));
    if (!reader.skipOperator(",")) break;
    isTuple = true;
  }
  if (!isTuple && items.length === 1) return items[0];
  if (items.length === 0 && !mayBeEmpty) return reader.refuse("expected an expression");
  return { kind: "tuple", line, items };
}

function isTupleEnd(reader: TokenReader, endName: string | undefined): boolean {
  const { kind } = reader.current;
  if (kind === "print-end" || kind === "block-end" || reader.isOperator(")")) return true;
  return endName !== undefined && reader.isName(endName);
}

/** Parses an expression without a condition (`if … else`). */
export function parseOr(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  while (reader.isName("or")) {
    const { line } = reader.next();
    left = { kind: "or", line, left, right: parseAnd(reader) };
  }
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  while (reader.isName("and")) {
    const { line } = reader.next();
    left = { kind: "and", line, left, right: parseNot(reader) };
  }
  return left;
}

function parseNot(reader: TokenReader): Expression {
  if (!reader.isName("not")) return parseComparison(reader);
  const { line } = reader.next();
  return { kind: "not", line, operand: parseNot(reader) };
}

const comparisons: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);

function parseComparison(reader: TokenReader): Expression {
  const { line } = reader;
  const first = parseSum(reader);
  const rest: Comparison[] = [];
  for (;;) {
    const operator = comparisonAt(reader);
    if (operator === null) break;
    rest.push({ operator, operand: parseSum(reader) });
  }
  return rest.length === 0 ? first : { kind: "compare", line, first, rest };
}

/** Reads a comparison operator; returns null if there is none. */
function comparisonAt(reader: TokenReader): Comparison["operator"] | null {
  const { current, following } = reader;
  if (current.kind === "operator" && comparisons.has(current.text)) {
    reader.next();
    // Safe cast: the set contains only comparison operators.
    return current.text as Comparison["operator"];
  }
  if (reader.skipName("in")) return "in";
  if (!reader.isName("not") || following.kind !== "name" || following.text !== "in") return null;
  reader.next();
  reader.next();
  return "not in";
}

function parseSum(reader: TokenReader): Expression {
  return parseBinary(reader, ["+", "-"], parseConcatenation);
}

function parseConcatenation(reader: TokenReader): Expression {
  const { line } = reader;
  const parts = [parseProduct(reader)];
  while (reader.skipOperator("~")) parts.push(parseProduct(reader));
  return parts.length === 1 ? parts[0] : { kind: "concatenation", line, parts };
}

function parseProduct(reader: TokenReader): Expression {
  return parseBinary(reader, ["*", "/", "//", "%"], parsePower);
}

/** Parses powers. They are left-associative, unlike Python's. */
function parsePower(reader: TokenReader): Expression {
  return parseBinary(reader, ["**"], (below) => parseUnary(below, true));
}

function parseBinary(
  reader: TokenReader,
  operators: readonly Operator[],
  parseOperand: (reader: TokenReader) => Expression,
): Expression {
  let left = parseOperand(reader);
  for (;;) {
    const { current } = reader;
    const operator = operators.find((one) => current.kind === "operator" && current.text === one);
    if (operator === undefined) return left;
    const { line } = reader.next();
    left = { kind: "binary", line, operator, left, right: parseOperand(reader) };
  }
}

function parseUnary(reader: TokenReader, takesFilters: boolean): Expression {
  let value: Expression;
  if (reader.isOperator("-", "+")) {
    const sign = reader.isOperator("-") ? "-" : "+";
    const { line } = reader.next();
    value = { kind: "sign", line, sign, operand: parseUnary(reader, false) };
  } else value = parsePrimary(reader);
  value = parsePostfix(reader, value);
  return takesFilters ? parseFiltersAndTests(reader, value) : value;
}

/** Parses a name, a literal, or an expression in brackets. */
export function parsePrimary(reader: TokenReader): Expression {
  const { current, line } = reader;
  switch (current.kind) {
    case "name":
      reader.next();
      return constantOf(current.text, line) ?? { kind: "name", line, name: current.text };
    case "string":
      return { kind: "constant", line, value: parseStrings(reader) };
    case "number":
      reader.next();
      return { kind: "constant", line, value: current.value };
    default:
      if (reader.isOperator("(")) return parseParentheses(reader);
      if (reader.isOperator("[")) return { kind: "list", line, items: parseListItems(reader) };
      if (reader.isOperator("{")) return { kind: "dict", line, entries: parseDictEntries(reader) };
      return reader.refuse("expected an expression");
  }
}

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

function constantOf(name: string, line: number): Expression | null {
  const value = constants.get(name);
  return value === undefined ? null : { kind: "constant", line, value };
}

/** Parses adjacent strings, which are concatenated. */
function parseStrings(reader: TokenReader): string {
  let text = "";
  for (let token = reader.current; token.kind === "string"; token = reader.current) {
    text += token.text;
    reader.next();
  }
  return text;
}

function parseParentheses(reader: TokenReader): Expression {
  reader.next();
  const value = parseTuple(reader, { mayBeEmpty: true });
  reader.expectOperator(")");
  return value;
}

function parseListItems(reader: TokenReader): readonly Expression[] {
  return parseBetween(reader, "]", parseExpression);
}

function parseDictEntries(reader: TokenReader): readonly (readonly [Expression, Expression])[] {
  return parseBetween(reader, "}", () => {
    const key = parseExpression(reader);
    reader.expectOperator(":");
    return [key, parseExpression(reader)] as const;
  });
}

/** Parses items between brackets, separated by commas; allows a trailing comma. */
function parseBetween<Item>(
  reader: TokenReader,
  end: string,
  parse: (reader: TokenReader) => Item,
): readonly Item[] {
  reader.next();
  const items: Item[] = [];
  while (!reader.isOperator(end)) {
    if (items.length > 0) reader.expectOperator(",");
    if (reader.isOperator(end)) break;
    items.push(parse(reader));
  }
  reader.expectOperator(end);
  return items;
}

/** Parses attributes, items and calls. */
function parsePostfix(reader: TokenReader, value: Expression): Expression {
  let result = value;
  for (;;) {
    if (reader.isOperator(".")) result = parseDotted(reader, result);
    else if (reader.isOperator("[")) result = parseSubscript(reader, result);
    else if (reader.isOperator("(")) result = parseCall(reader, result);
    else return result;
  }
}

function parseFiltersAndTests(reader: TokenReader, value: Expression): Expression {
  let result = value;
  for (;;) {
    if (reader.isOperator("|")) result = parseFilters(reader, result);
    else if (reader.isName("is")) result = parseTest(reader, result);
    else if (reader.isOperator("(")) result = parseCall(reader, result);
    else return result;
  }
}

function parseDotted(reader: TokenReader, object: Expression): Expression {
  const { line } = reader.next();
  const token = reader.next();
  if (token.kind === "name") return { kind: "attribute", line, object, name: token.text };
  if (token.kind === "number" && typeof token.value === "bigint")
    return { kind: "item", line, object, key: { kind: "constant", line, value: token.value } };
  throw new TemplateFault("expected name or number", token.line);
}

function parseSubscript(reader: TokenReader, object: Expression): Expression {
  const { line } = reader;
  reader.next();
  const keys: Expression[] = [];
  while (!reader.isOperator("]")) {
    if (keys.length > 0) reader.expectOperator(",");
    keys.push(parseKey(reader));
  }
  reader.expectOperator("]");
  const key: Expression = keys.length === 1 ? keys[0] : { kind: "tuple", line, items: keys };
  return { kind: "item", line, object, key };
}

function parseKey(reader: TokenReader): Expression {
  const { line } = reader;
  const start = reader.isOperator(":") ? null : parseExpression(reader);
  if (start !== null && !reader.isOperator(":")) return start;
  reader.expectOperator(":");
  const isBound = (): boolean => !reader.isOperator("]", ",", ":");
  const stop = isBound() ? parseExpression(reader) : null;
  const step = reader.skipOperator(":") && isBound() ? parseExpression(reader) : null;
  return { kind: "slice", line, start, stop, step };
}

function parseCall(reader: TokenReader, callee: Expression): Expression & { readonly kind: "call" } {
  const { line } = reader;
  return { kind: "call", line, callee, args: parseCallArguments(reader) };
}

const noArguments: CallNode = { positional: [], named: [], spread: null, namedSpread: null };

function parseCallArguments(reader: TokenReader): CallNode {
  const { line } = reader;
  const positional: Expression[] = [];
  const named: [string, Expression][] = [];
  let spread: Expression | null = null;
  let namedSpread: Expression | null = null;
  const require = (isRight: boolean): void => {
    if (!isRight) throw new TemplateFault("invalid syntax for function call expression", line);
  };
  parseBetween(reader, ")", () => {
    const { current, following } = reader;
    if (reader.skipOperator("*")) {
      require(spread === null && namedSpread === null);
      spread = parseExpression(reader);
    } else if (reader.skipOperator("**")) {
      require(namedSpread === null);
      namedSpread = parseExpression(reader);
    } else if (current.kind === "name" && following.kind === "operator" && following.text === "=") {
      require(namedSpread === null);
      reader.next();
      reader.next();
      named.push([current.text, parseExpression(reader)]);
    } else {
      require(spread === null && namedSpread === null && named.length === 0);
      positional.push(parseExpression(reader));
    }
  });
  const names = new Set(named.map(([name]) => name));
  if (names.size < named.length) throw new TemplateFault("keyword argument repeated", line);
  return { positional, named, spread, namedSpread };
}

/** Parses one or more filters; `object` is null for a filtered block. */
export function parseFilters(reader: TokenReader, object: Expression): Expression;
export function parseFilters(reader: TokenReader, object: null, isStarted?: boolean): Expression | null;
export function parseFilters(
  reader: TokenReader,
  object: Expression | null,
  isStarted = false,
): Expression | null {
  let value = object;
  for (let isFirst = isStarted; isFirst || reader.isOperator("|"); isFirst = false) {
    if (!isFirst) reader.next();
    const { line } = reader;
    const name = parseDottedName(reader);
    const args = reader.isOperator("(") ? parseCallArguments(reader) : noArguments;
    value = { kind: "filter", line, object: value, name, args };
  }
  return value;
}

function parseDottedName(reader: TokenReader): string {
  let name = reader.expectName();
  while (reader.skipOperator(".")) name += `.${reader.expectName()}`;
  return name;
}

function parseTest(reader: TokenReader, object: Expression): Expression {
  const { line } = reader.next();
  const isNegated = reader.skipName("not");
  const name = parseDottedName(reader);
  const test: Expression = { kind: "test", line, object, name, args: parseTestArguments(reader) };
  return isNegated ? { kind: "not", line, operand: test } : test;
}

/** Parses the arguments of a test: in parentheses, or a single one without parentheses. */
function parseTestArguments(reader: TokenReader): CallNode {
  if (reader.isOperator("(")) return parseCallArguments(reader);
  const { kind } = reader.current;
  const begins = kind === "name" || kind === "string" || kind === "number" || reader.isOperator("[", "{");
  if (!begins || reader.isName("else", "or", "and")) return noArguments;
  if (reader.isName("is")) throw new TemplateFault("You cannot chain multiple tests with is", reader.line);
  return { ...noArguments, positional: [parsePostfix(reader, parsePrimary(reader))] };
}
