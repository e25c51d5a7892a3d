// Detects which content format a chat template expects, from its syntax tree, without running it. Follows the rules of
// vLLM 0.32: a template that loops over the content of messages expects a list of parts, any other template a text.
// Those rules compare variable names and ignore scopes; Hone reproduces even their errors, because the format
// determines each byte of a prompt.
import { allNodes, type Body, type Expression, type Node } from "../../lib/jinja/syntax/nodes.ts";

export type ContentFormat = "string" | "parts";

type Of<Kind extends Node["kind"]> = Node & { readonly kind: Kind };

/** @param body the syntax tree of a compiled template */
export function detectContentFormat(body: Body): ContentFormat {
  const nodes = [...allNodes(body)];
  const messages = messageNames(nodes);
  if (messages === null) return "string";
  const macros = ofKind(nodes, "macro").map((macro) => ({
    loops: ofKind([...allNodes(macro.body)], "for"),
    names: contentParameters(macro, nodes, messages),
  }));
  const inMacros = new Set(macros.flatMap(({ loops }) => loops));
  const outside = {
    loops: ofKind(nodes, "for").filter((loop) => !inMacros.has(loop)),
    names: new Set(["content"]),
  };
  const loopsOverParts = [outside, ...macros].some(({ loops, names }) =>
    loops.some(({ iterable }) => isContent(iterable, messages) || isOneOf(iterable, names)),
  );
  return loopsOverParts ? "parts" : "string";
}

function ofKind<Kind extends Node["kind"]>(nodes: readonly Node[], kind: Kind): readonly Of<Kind>[] {
  return nodes.filter((node): node is Of<Kind> => node.kind === kind);
}

/** Returns the names of variables of loops over the messages; null if the target of some loop is not a name. */
function messageNames(nodes: readonly Node[]): ReadonlySet<string> | null {
  const lists = messageLists(nodes);
  if (lists === null) return null;
  const loops = ofKind(nodes, "for").filter(({ iterable }) => isOneOf(unfiltered(iterable), lists));
  return namesOf(loops);
}

/**
 * Returns the names of variables that hold the messages or some of them: `messages`, and others such as
 * `loop_messages`. Returns null if an assignment's target is a member instead of a variable.
 */
function messageLists(nodes: readonly Node[]): ReadonlySet<string> | null {
  const lists = new Set<string>();
  for (let found: ReadonlySet<string> | null = new Set(["messages"]); found.size > 0;) {
    for (const name of found) lists.add(name);
    const more: ReadonlySet<string> | null = namesOf(
      ofKind(nodes, "set").filter(({ value }) => isOneOf(unfiltered(value), lists)),
    );
    if (more === null) return null;
    found = new Set([...more].filter((name) => !lists.has(name)));
  }
  return lists;
}

/** Returns the names of the variables to which these nodes assign; null if a target is not a name. */
function namesOf(nodes: readonly { readonly target: Expression }[]): ReadonlySet<string> | null {
  const names = new Set<string>();
  for (const { target } of nodes) {
    if (target.kind !== "name") return null;
    names.add(target.name);
  }
  return names;
}

function isOneOf(value: Expression, names: ReadonlySet<string>): boolean {
  return value.kind === "name" && names.has(value.name);
}

/** Returns the inner expression, without filters, tests and slices around it. */
function unfiltered(value: Expression): Expression {
  if (value.kind === "filter" && value.object !== null) return unfiltered(value.object);
  if (value.kind === "test") return unfiltered(value.object);
  if (value.kind === "item" && value.key.kind === "slice") return unfiltered(value.object);
  return value;
}

/** True for `message.content` or `message['content']` of one of the given messages, with or without filters. */
function isContent(value: Expression, messages: ReadonlySet<string>): boolean {
  const node = unfiltered(value);
  if (node.kind === "attribute") return node.name === "content" && isOneOf(node.object, messages);
  if (node.kind !== "item" || node.key.kind !== "constant") return false;
  return node.key.value === "content" && isOneOf(node.object, messages);
}

/** Returns the names of a macro's parameters that receive the content of a message in some call. */
function contentParameters(
  { name, signature: { parameters } }: Of<"macro">,
  nodes: readonly Node[],
  messages: ReadonlySet<string>,
): ReadonlySet<string> {
  const calls = ofKind(nodes, "call").filter(({ callee }) => callee.kind === "name" && callee.name === name);
  return new Set(
    calls.flatMap(({ args: { positional, named } }) => [
      ...parameters.filter((_, index) => index < positional.length && isContent(positional[index], messages)),
      ...named.flatMap(([parameter, value]) => (isContent(value, messages) ? [parameter] : [])),
    ]),
  );
}
