// The syntax tree of a template, whose nodes store their lines. Also finds the names of unknown filters and tests in
// it, and the names of variables that macros read.
import type { Operator } from "../values/arithmetic.ts";
import type { Order } from "../values/compare.ts";
import { TemplateFault } from "../fault.ts";

export interface CallNode {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  /** Expression of `*values`; null if absent. */
  readonly spread: Expression | null;
  /** Expression of `**values`; null if absent. */
  readonly namedSpread: Expression | null;
}

export type Expression = { readonly line: number } & (
  | { readonly kind: "constant"; readonly value: null | boolean | bigint | number | string }
  | { readonly kind: "name"; readonly name: string }
  /** Target of an assignment to a namespace's member; never evaluated. */
  | { readonly kind: "namespace-member"; readonly name: string; readonly member: string }
  | { readonly kind: "list" | "tuple"; readonly items: readonly Expression[] }
  | { readonly kind: "dict"; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: "attribute"; readonly object: Expression; readonly name: string }
  | { readonly kind: "item"; readonly object: Expression; readonly key: Expression }
  /** A slice as a key; null for an omitted bound. */
  | {
      readonly kind: "slice";
      readonly start: Expression | null;
      readonly stop: Expression | null;
      readonly step: Expression | null;
    }
  | { readonly kind: "call"; readonly callee: Expression; readonly args: CallNode }
  /** A filter that is applied to `object`, or to the text of the filtered block if `object` is null. */
  | {
      readonly kind: "filter";
      readonly object: Expression | null;
      readonly name: string;
      readonly args: CallNode;
    }
  | { readonly kind: "test"; readonly object: Expression; readonly name: string; readonly args: CallNode }
  | { readonly kind: "not"; readonly operand: Expression }
  | { readonly kind: "sign"; readonly sign: "+" | "-"; readonly operand: Expression }
  | {
      readonly kind: "binary";
      readonly operator: Operator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "compare"; readonly first: Expression; readonly rest: readonly Comparison[] }
  | { readonly kind: "concatenation"; readonly parts: readonly Expression[] }
  | {
      readonly kind: "conditional";
      readonly test: Expression;
      readonly value: Expression;
      readonly otherwise: Expression | null;
    }
);

export interface Comparison {
  readonly operator: Order | "==" | "!=" | "in" | "not in";
  readonly operand: Expression;
}

/** Parameters of a macro, or of the body of a call. */
export interface Signature {
  readonly parameters: readonly string[];
  /** Defaults of the last parameters, in order. */
  readonly defaults: readonly Expression[];
}

export type Body = readonly Statement[];

export type Statement = { readonly line: number } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly value: Expression }
  | {
      readonly kind: "if";
      readonly branches: readonly { readonly test: Expression; readonly body: Body }[];
      readonly otherwise: Body;
    }
  | {
      readonly kind: "for";
      readonly target: Expression;
      readonly iterable: Expression;
      readonly test: Expression | null;
      readonly isRecursive: boolean;
      readonly body: Body;
      readonly otherwise: Body;
    }
  | { readonly kind: "set"; readonly target: Expression; readonly value: Expression }
  | {
      readonly kind: "set-block";
      readonly target: Expression;
      readonly filter: Expression | null;
      readonly body: Body;
    }
  | { readonly kind: "macro"; readonly name: string; readonly signature: Signature; readonly body: Body }
  | {
      readonly kind: "call-block";
      readonly call: Expression & { readonly kind: "call" };
      readonly signature: Signature;
      readonly body: Body;
    }
  | { readonly kind: "filter-block"; readonly filter: Expression; readonly body: Body }
  | {
      readonly kind: "with";
      readonly targets: readonly Expression[];
      readonly values: readonly Expression[];
      readonly body: Body;
    }
  /**
   * Renders its body in a separate scope, so that names set in the body are not visible outside. If `isOutermost` is
   * true, the body sees only the names of the outermost scope.
   */
  | { readonly kind: "scope"; readonly isOutermost: boolean; readonly body: Body }
  | { readonly kind: "break" | "continue" }
  /** A tag that loads another template. Running it is an error, because no other templates exist. */
  | { readonly kind: "load"; readonly tag: string }
);

export type Node = Expression | Statement;

/** Yields the children of a node. */
function* nodesBelow(node: Node): Generator<Node> {
  for (const member of Object.values(node) as readonly unknown[]) yield* nodesWithin(member);
}

function* nodesWithin(member: unknown): Generator<Node> {
  if (typeof member !== "object" || member === null) return;
  if (isNode(member)) yield member;
  else for (const value of Object.values(member) as readonly unknown[]) yield* nodesWithin(value);
}

function isNode(value: object): value is Node {
  return "kind" in value && "line" in value;
}

/**
 * Yields all nodes of a tree. It does not recurse, because a long chain of operators is nested as deeply as it is
 * long.
 */
export function* allNodes(body: Body): Generator<Node> {
  const waiting: Node[] = [...body];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    for (const below of nodesBelow(node)) waiting.push(below);
  }
}

/** Names of the known filters and tests. */
export interface KnownNames {
  readonly filters: { has(name: string): boolean };
  readonly tests: { has(name: string): boolean };
}

/**
 * Kinds of nodes whose bodies are always checked. Even if a condition around such a node is false, an unknown filter
 * in its body is a fault.
 */
const opening: ReadonlySet<Node["kind"]> = new Set([
  "for",
  "macro",
  "call-block",
  "filter-block",
  "set-block",
  "with",
  "scope",
]);

/**
 * Requires known filters and tests.
 *
 * @throws TemplateFault for an unknown filter or test that no condition guards
 */
export function requireKnown(body: Body, known: KnownNames): void {
  const waiting = body.map((node: Node) => ({ node, isGuarded: false }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, isGuarded } = next;
    if (!isGuarded && (node.kind === "filter" || node.kind === "test")) requireOne(node, known);
    const guards = node.kind === "if" || node.kind === "conditional";
    const isOpened = opening.has(node.kind);
    for (const below of nodesBelow(node)) {
      // A loop's iterable is evaluated outside the loop.
      const isOutside = node.kind === "for" && below === node.iterable;
      waiting.push({ node: below, isGuarded: guards || (isGuarded && (!isOpened || isOutside)) });
    }
  }
}

function requireOne(node: Node & { readonly kind: "filter" | "test" }, { filters, tests }: KnownNames): void {
  const names = node.kind === "filter" ? filters : tests;
  if (!names.has(node.name)) throw new TemplateFault(`No ${node.kind} named '${node.name}'.`, node.line);
}

/** True if a macro's body reads a name that the body does not set. */
export function readsName(body: Body, name: string): boolean {
  let isRead = false;
  for (const node of allNodes(body)) {
    if (node.kind === "name" && node.name === name) isRead = true;
  }
  return isRead;
}
