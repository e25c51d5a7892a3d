// Which form of a message's content a chat template expects, found in its syntax tree: by vLLM's rules one that loops over
// the content of messages reads a list of parts, any other a text. One that also asks whether a content is a string gets
// texts as texts, as transformers hands them over: such templates often show a system message without asking, where a
// list of parts would stand in the prompt as Python writes it. Nothing is run.
import { allNodes, type Body, type Expression, type Node } from "../jinja/syntax/nodes.ts";
import type { Value } from "../jinja/values/value.ts";

/**
 * Whether the template joins the arguments of calls to texts as they stand, and does nothing else with them: it then reads
 * the text that the model wrote, where others read an object.
 */
export function readsArgumentsAsText(body: Body): boolean {
  const nodes = [...allNodes(body)];
  const isArguments = (node: Expression | null): boolean => node !== null && keyOf(node) === "arguments";
  const isJoined = ofKind(nodes, "binary").some(
    ({ operator, left, right }) => operator === "+" && (isArguments(left) || isArguments(right)),
  );
  const isReadOtherwise = nodes.some(
    (node) =>
      (node.kind === "test" || node.kind === "filter" || node.kind === "attribute") &&
      isArguments(node.object),
  );
  return isJoined && !isReadOtherwise;
}

/** What `either` reads is content as it was sent: a text, or parts. */
export type ContentFormat = "string" | "parts" | "either";

type Of<Kind extends Node["kind"]> = Node & { readonly kind: Kind };

/** @param body the syntax tree of a compiled template */
export function detectContentFormat(body: Body): ContentFormat {
  const nodes = [...allNodes(body)];
  const messages = messageNames(nodes);
  const macros = ofKind(nodes, "macro").map((macro) => ({
    loops: ofKind([...allNodes(macro.body)], "for"),
    names: new Set(contentParameters(macro, nodes, messages)),
  }));
  const inMacros = new Set(macros.flatMap(({ loops }) => loops));
  const outside = {
    loops: ofKind(nodes, "for").filter((loop) => !inMacros.has(loop)),
    names: new Set(["content", ...contentNames(nodes, messages)]),
  };
  const loopsOverParts = [outside, ...macros].some(({ loops, names }) =>
    loops.some(
      ({ iterable }) =>
        isContent(iterable, messages) || (iterable.kind === "name" && names.has(iterable.name)),
    ),
  );
  if (!loopsOverParts) return "string";
  const names = new Set([outside, ...macros].flatMap((one) => [...one.names]));
  return ofKind(nodes, "test").some((test) => asksForString(test, names)) ? "either" : "parts";
}

function ofKind<Kind extends Node["kind"]>(nodes: readonly Node[], kind: Kind): readonly Of<Kind>[] {
  return nodes.filter((node): node is Of<Kind> => node.kind === kind);
}

/** The variables of loops over the messages. */
function messageNames(nodes: readonly Node[]): ReadonlySet<string> {
  const lists = messageLists(nodes);
  const loops = ofKind(nodes, "for").filter(({ iterable }) => isOneOf(iterable, lists));
  return new Set(loops.flatMap(({ target }) => (target.kind === "name" ? [target.name] : [])));
}

/** `messages` and what holds some of them, such as `loop_messages` or a namespace's `ns.rest`. */
function messageLists(nodes: readonly Node[]): ReadonlySet<string> {
  const assignments = ofKind(nodes, "set").flatMap(assignmentsOf);
  const lists = new Set<string>();
  for (let found: readonly string[] = ["messages"]; found.length > 0;) {
    for (const name of found) lists.add(name);
    const more = assignments.filter(({ name, value }) => !lists.has(name) && isOneOf(value, lists));
    found = more.map(({ name }) => name);
  }
  return lists;
}

interface Assignment {
  readonly name: string;
  readonly value: Expression;
}

/** `x = value`, `ns.x = value`, and `ns.x` for `ns = namespace(x=value)`. */
function assignmentsOf({ target, value }: Of<"set">): readonly Assignment[] {
  const name = dottedName(target);
  if (name === null) return [];
  const isNamespace =
    value.kind === "call" && value.callee.kind === "name" && value.callee.name === "namespace";
  if (!isNamespace) return [{ name, value }];
  return value.args.named.map(([member, given]) => ({ name: `${name}.${member}`, value: given }));
}

function dottedName(node: Expression): string | null {
  if (node.kind === "name") return node.name;
  if (node.kind === "namespace-member") return `${node.name}.${node.member}`;
  return node.kind === "attribute" && node.object.kind === "name" ? `${node.object.name}.${node.name}` : null;
}

function isOneOf(value: Expression, names: ReadonlySet<string>): boolean {
  const name = dottedName(unfiltered(value));
  return name !== null && names.has(name);
}

/** Without filters and slices around it. */
function unfiltered(value: Expression): Expression {
  if (value.kind === "filter" && value.object !== null) return unfiltered(value.object);
  if (value.kind === "item" && value.key.kind === "slice") return unfiltered(value.object);
  return value;
}

/** Whether it is `message.content` or `message['content']` for one of these messages, or made of it by filters. */
function isContent(value: Expression, messages: ReadonlySet<string>): boolean {
  const node = unfiltered(value);
  if (node.kind !== "attribute" && node.kind !== "item") return false;
  return keyOf(node) === "content" && node.object.kind === "name" && messages.has(node.object.name);
}

/** The member that is read; null for what is none. */
function keyOf(node: Expression): Value | null {
  if (node.kind === "attribute") return node.name;
  return node.kind === "item" && node.key.kind === "constant" ? node.key.value : null;
}

/** `message.content is string`, or the same of a variable that holds a content. */
function asksForString({ name, object }: Of<"test">, names: ReadonlySet<string>): boolean {
  if (name !== "string") return false;
  return object.kind === "name" ? names.has(object.name) : keyOf(object) === "content";
}

/** Variables set to a filtered content. An unfiltered one under another name is often no list of parts, but of calls. */
function contentNames(nodes: readonly Node[], messages: ReadonlySet<string>): readonly string[] {
  return ofKind(nodes, "set").flatMap(({ target, value }) =>
    target.kind === "name" && value.kind === "filter" && isContent(value, messages) ? [target.name] : [],
  );
}

/** The parameters of a macro that a call gives the content of a message. */
function contentParameters(
  { name, signature }: Of<"macro">,
  nodes: readonly Node[],
  messages: ReadonlySet<string>,
): readonly string[] {
  const calls = ofKind(nodes, "call").filter(({ callee }) => callee.kind === "name" && callee.name === name);
  return calls.flatMap(({ args: { positional, named } }) => [
    ...signature.parameters.filter(
      (_, index) => index < positional.length && isContent(positional[index], messages),
    ),
    ...named.flatMap(([parameter, value]) => (isContent(value, messages) ? [parameter] : [])),
  ]);
}
