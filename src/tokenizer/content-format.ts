// Which form of a message's content a chat template expects, found in its syntax tree: a template that loops over
// `message.content` reads a list of parts, any other a text. Nothing is run.
import { allNodes, type Body, type Expression } from "../jinja/syntax/nodes.ts";

export type ContentFormat = "string" | "parts";

/** @param body the syntax tree of a compiled template */
export function detectContentFormat(body: Body): ContentFormat {
  const nodes = [...allNodes(body)];
  const aliases = new Set(
    nodes.flatMap((node) =>
      node.kind === "set" && isContent(node.value, new Set()) ? nameOf(node.target) : [],
    ),
  );
  return nodes.some((node) => node.kind === "for" && isContent(node.iterable, aliases)) ? "parts" : "string";
}

/** True for `x.content`, `x['content']` and variables set from them, also when filtered, sliced or selected from. */
function isContent(value: Expression, aliases: ReadonlySet<string>): boolean {
  switch (value.kind) {
    case "filter":
      return value.object !== null && isContent(value.object, aliases);
    case "name":
      return aliases.has(value.name);
    case "attribute":
      return value.name === "content";
    case "item":
      if (value.key.kind === "slice") return isContent(value.object, aliases);
      return value.key.kind === "constant" && value.key.value === "content";
    default:
      return false;
  }
}

function nameOf(target: Expression): readonly string[] {
  return target.kind === "name" ? [target.name] : [];
}
