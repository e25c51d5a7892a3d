// What can be said of names in a template without running it: which filters and tests it needs, what a macro takes beside
// its parameters.
import { TemplateFault } from "../fault.ts";
import { allNodes, nodesBelow, type Body, type Node } from "./nodes.ts";

/** What is known beside names of variables. */
export interface KnownNames {
  readonly filters: { has(name: string): boolean };
  readonly tests: { has(name: string): boolean };
}

/** Those whose insides are looked at anew: within a condition alone an unknown filter may stand unused. */
const opening: ReadonlySet<Node["kind"]> = new Set([
  "for",
  "macro",
  "call-block",
  "filter-block",
  "set-block",
  "with",
  "scope",
]);

/** @throws TemplateFault for a filter or test that nobody knows, and that no condition guards */
export function requireKnown(body: Body, known: KnownNames): void {
  const waiting = body.map((node: Node) => ({ node, isGuarded: false }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, isGuarded } = next;
    if (!isGuarded && (node.kind === "filter" || node.kind === "test")) requireOne(node, known);
    const guards = node.kind === "if" || node.kind === "conditional";
    const isOpened = opening.has(node.kind);
    for (const below of nodesBelow(node)) {
      // What a loop runs over stands outside of it.
      const isOutside = node.kind === "for" && below === node.iterable;
      waiting.push({ node: below, isGuarded: guards || (isGuarded && (!isOpened || isOutside)) });
    }
  }
}

function requireOne(node: Node & { readonly kind: "filter" | "test" }, { filters, tests }: KnownNames): void {
  const names = node.kind === "filter" ? filters : tests;
  if (!names.has(node.name)) throw new TemplateFault(`No ${node.kind} named '${node.name}'.`, node.line);
}

/** Whether a macro's body reads a name that nothing within sets. */
export function readsName(body: Body, name: string): boolean {
  let isRead = false;
  for (const node of allNodes(body)) {
    if (node.kind === "name" && node.name === name) isRead = true;
  }
  return isRead;
}
