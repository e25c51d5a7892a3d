// Which form of a message's content a chat template expects, found in its syntax tree: a template that loops over
// `message.content` reads a list of parts, any other a text. Nothing is run.

export type ContentFormat = "string" | "parts";

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** @param tree the syntax tree of a compiled template */
export function detectContentFormat(tree: unknown): ContentFormat {
  const nodes = [...nodesOf(tree)];
  const aliases = new Set(
    nodes
      .filter((node) => node.type === "Set" && isContent(node.value, new Set()))
      .flatMap((node) => nameOf(node.assignee)),
  );
  return nodes.some((node) => node.type === "For" && isContent(node.iterable, aliases)) ? "parts" : "string";
}

/** Without recursion: a chain of operators is as deep as it is long. */
function* nodesOf(tree: unknown): Generator<Node> {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null) continue;
    if (isNode(value)) yield value;
    for (const member of value instanceof Map ? [...value].flat() : Object.values(value))
      waiting.push(member);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** True for `x.content`, `x['content']` and variables set from them, also when filtered, sliced or selected from. */
function isContent(value: unknown, aliases: ReadonlySet<string>): boolean {
  if (!isNode(value)) return false;
  switch (value.type) {
    case "FilterExpression":
      return isContent(value.operand, aliases);
    case "SelectExpression":
      return isContent(value.lhs, aliases);
    case "Identifier":
      return aliases.has(String(value.value));
    case "MemberExpression":
      if (isNode(value.property) && value.property.type === "SliceExpression")
        return isContent(value.object, aliases);
      return isNode(value.property) && value.property.value === "content";
    default:
      return false;
  }
}

function nameOf(value: unknown): readonly string[] {
  return isNode(value) && value.type === "Identifier" ? [String(value.value)] : [];
}
