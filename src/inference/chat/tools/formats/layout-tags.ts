// Converts layouts of calls into formats of structural tags, which constrain an answer to calls in these layouts.
import type { Json } from "../../../../base/domain/text/json.ts";
import type { CallableTool } from "../call-format.ts";
import { type CallLayout, callFrame, callMark, callMarks, splitLayout } from "./call-layout.ts";
import { keywordsTag } from "./keyword-arguments.ts";
import { quotedTag } from "./quoted-grammar.ts";
import { jsonTextContent, plainTextContent } from "./text-content.ts";
import { textArgument } from "../../../../base/domain/chat.ts";
import { parametersTag, wholeParameter } from "../../../../base/domain/parameters/parameter-tags.ts";
import { parameterMarks } from "./read-parameters.ts";

/** Returns a format that allows only calls of these tools, at least one, in any of the layouts. */
export function callsTag(
  layouts: readonly CallLayout[],
  tools: readonly CallableTool[],
  areParallel: boolean,
): Json {
  const blocks = layouts.filter(isBlock).map((layout) => blockTag(layout, tools, areParallel));
  const single = layouts.filter((layout) => !isBlock(layout));
  const calls = single.length === 0 ? [] : [listTag(single, tools, areParallel)];
  return anyOf([...calls, ...blocks]);
}

/** Returns a format that allows text, with or without calls of these tools. */
export function textTag(
  layouts: readonly CallLayout[],
  tools: readonly CallableTool[],
  areParallel: boolean,
): Json {
  if (layouts.some(({ isAtStart }) => isAtStart)) {
    const prefixes = layouts.map((layout) => callMark(layout) || "{");
    const text = { type: "regex", pattern: `\\s*${otherThan(prefixes, "\\s")}` };
    return anyOf([callsTag(layouts, tools, areParallel), text]);
  }
  const tags = layouts.flatMap((layout) =>
    isBlock(layout) ? [blockTag(layout, tools, areParallel)] : tools.map((tool) => callTag(layout, tool)),
  );
  const isFirstLast = !areParallel || layouts.some(isBlock);
  return {
    type: "triggered_tags",
    triggers: callMarks(layouts),
    tags,
    stop_after_first: isFirstLast,
  };
}

function isBlock(layout: CallLayout): boolean {
  const { open, close } = callFrame(layout);
  return open !== "" || close !== "";
}

function blockTag(layout: CallLayout, tools: readonly CallableTool[], areParallel: boolean): Json {
  const { open, close } = callFrame(layout);
  return { type: "tag", begin: open, content: listTag([layout], tools, areParallel), end: close };
}

/**
 * Returns a format for calls in these layouts, one after another.
 *
 * @param layouts layouts that have the same separator
 */
function listTag(layouts: readonly CallLayout[], tools: readonly CallableTool[], areParallel: boolean): Json {
  return {
    type: "tags_with_separator",
    tags: layouts.flatMap((layout) => tools.map((tool) => callTag(layout, tool))),
    separator: layouts[0].separator,
    at_least_one: true,
    stop_after_first: !areParallel,
  };
}

/** Returns a format for one call of a tool. */
export function callTag(layout: CallLayout, tool: CallableTool): Json {
  const parts = splitLayout(layout.call).flatMap((piece): readonly (string | Json)[] => {
    switch (piece.kind) {
      case "text":
        return [piece.text];
      case "name":
        return [tool.name];
      case "object":
        return objectParts(layout, tool);
      case "arguments":
        return [layout.quote === null ? jsonOf(tool) : quotedTag(tool, layout.quote)];
      case "parameters":
        return [toolParameters(layout.parameter ?? "", tool)];
      case "keywords":
        return [keywordsTag(tool)];
      case "index":
        return [pattern("\\d+")];
      case "id":
        return [pattern("[a-zA-Z0-9]{9}")];
      default:
        return [];
    }
  });
  return tagOf(parts);
}

function objectParts({ object }: CallLayout, tool: CallableTool): readonly (string | Json)[] {
  const begin = `{"${object.name}": ${JSON.stringify(tool.name)}, "${object.arguments}": `;
  const id = object.id === null ? [] : [pattern(`(?:, "id": "${object.id}")?`)];
  return [begin, jsonOf(tool), ...id, "}"];
}

/** Returns a format for JSON arguments that match the tool's schema or its text rule. */
function jsonOf({ schema, textRule }: CallableTool): Json {
  if (textRule !== undefined) return jsonTextContent(textRule);
  return { type: "json_schema", json_schema: schema };
}

function pattern(text: string): Json {
  return { type: "regex", pattern: text };
}

/**
 * Joins texts and formats into one tag, in their order. A text at the beginning becomes the tag's `begin`, a text at
 * the end its `end`.
 */
function tagOf(parts: readonly (string | Json)[]): Json {
  const joined: (string | Json)[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (typeof part === "string" && typeof last === "string") joined[joined.length - 1] = last + part;
    else joined.push(part);
  }
  const [first, last] = [joined[0], joined.length > 1 ? joined[joined.length - 1] : undefined];
  const begin = typeof first === "string" ? first : "";
  const end = typeof last === "string" ? last : "";
  const inner = joined.slice(begin === "" ? 0 : 1, end === "" ? joined.length : -1);
  const elements = inner.map((part) =>
    typeof part === "string" ? { type: "const_string", value: part } : part,
  );
  const content = elements.length === 1 ? elements[0] : { type: "sequence", elements };
  return { type: "tag", begin, content, end };
}

function anyOf(elements: readonly Json[]): Json {
  return elements.length === 1 ? elements[0] : { type: "or", elements };
}

/**
 * Returns a pattern for texts that do not begin with any of these non-empty prefixes, or with any of these characters.
 */
function otherThan(prefixes: readonly string[], characters = ""): string {
  const firsts = [...new Set(prefixes.map((text) => text.charAt(0)))];
  const branches = firsts.flatMap((first) => {
    const rests = prefixes.filter((text) => text.startsWith(first)).map((text) => text.slice(1));
    return rests.includes("") ? [] : [escaped(first) + otherThan(rests)];
  });
  return `(?:${["", `[^${characters}${firsts.map(escaped).join("")}][\\s\\S]*`, ...branches].join("|")})`;
}

function escaped(character: string): string {
  return /[\\^$.*+?()[\]{}|/-]/.test(character) ? `\\${character}` : character;
}

/**
 * Returns a format for the parameters of a tool's calls. Parameters must match the tool's schema or, if the tool has a
 * text input, the rule for its text.
 *
 * @param layout layout of one parameter, with its slots
 */
function toolParameters(layout: string, { schema, textRule }: CallableTool): Json {
  const marks = parameterMarks(layout);
  if (textRule === undefined) return parametersTag(marks, schema);
  const content = plainTextContent(textRule);
  return wholeParameter(marks, { name: textArgument, isText: true, content });
}
