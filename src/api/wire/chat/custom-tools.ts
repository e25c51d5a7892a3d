// Custom tools, which take one text rather than arguments: as functions with that one argument, which every chat template
// knows how to show, and what their text must match.
import { textArgument, type TextTool } from "../../../base/domain/chat.ts";
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import type { ChatRequestBody } from "./chat-request.ts";

type Tool = NonNullable<ChatRequestBody["tools"]>[number];

/** Adds a fault for a tool without what its type needs; looks at raw values. */
export function checkTool(tool: unknown, index: number, findings: Findings): void {
  if (!isObject(tool)) return;
  const { type, custom } = tool;
  const missing = (...below: readonly string[]): void =>
    report(findings, "missing", "Field required", "tools", String(index), ...below);
  if ((type === "function" || type === "custom") && !isObject(tool[type])) {
    if ((tool[type] ?? null) === null) missing(type);
    return;
  }
  if (type !== "custom" || !isObject(custom) || !isObject(custom["format"])) return;
  const { type: kind, grammar } = custom["format"];
  if (kind === "grammar" && (grammar ?? null) === null) missing("custom", "format", "grammar");
}

/** The tool as templates know it. */
export function asFunctionTool(tool: Tool): object {
  const { custom } = tool;
  if (tool.type !== "custom" || !custom) return tool;
  const { name, description } = custom;
  const input = { type: "string", description: describedInput(custom.format ?? null) };
  const parameters = {
    type: "object",
    properties: { [textArgument]: input },
    required: [textArgument],
    additionalProperties: false,
  };
  return {
    type: "function",
    function: { name, ...(typeof description === "string" ? { description } : {}), parameters },
  };
}

type Format = NonNullable<NonNullable<Tool["custom"]>["format"]>;

function describedInput(format: Format | null): string {
  const whole = "The whole input, as one text.";
  if (!format?.grammar) return whole;
  const { syntax, definition } = format.grammar;
  const notation = syntax === "regex" ? "regular expression" : "grammar in Lark's notation";
  return `${whole} It matches this ${notation}:\n${definition}`;
}

/** What the texts of custom tools must match. */
export function textToolsOf(tools: readonly Tool[]): readonly TextTool[] {
  return tools.flatMap(({ type, custom }) => {
    if (type !== "custom" || !custom) return [];
    return [{ name: custom.name, rule: ruleOf(custom.format ?? null) }];
  });
}

function ruleOf(format: Format | null): ConstraintRule | null {
  if (!format?.grammar) return null;
  const { syntax, definition } = format.grammar;
  return syntax === "regex" ? { kind: "regex", pattern: definition } : { kind: "grammar", text: definition };
}

/** A message with the calls of custom tools as those of functions. */
export function withFunctionCalls(message: ChatRequestBody["messages"][number]): object {
  const { tool_calls: calls } = message;
  if (!calls?.some(isCustomCall)) return message;
  return { ...message, tool_calls: calls.map((call) => (isCustomCall(call) ? asFunctionCall(call) : call)) };
}

interface CustomCall {
  readonly custom: { readonly name?: unknown; readonly input?: unknown };
}

function isCustomCall(call: object): call is CustomCall {
  return "custom" in call && isObject(call.custom);
}

function asFunctionCall({ custom: { name, input }, ...rest }: CustomCall): object {
  return {
    ...rest,
    type: "function",
    function: { name, arguments: JSON.stringify({ [textArgument]: input }) },
  };
}
