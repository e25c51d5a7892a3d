// Reads the tools of a chat request: determines the tools that the answer may call, finds contradictions with other
// fields, and converts custom tools to functions. This module does not check that the model supports tools.
import { type ChatCalls, type ToolChoice, textArgument, type TextTool } from "../../../base/domain/chat.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { constraintsIn } from "./chat-constraint.ts";
import type { ChatRequestBody } from "./chat-request.ts";
import type { ConstraintRule } from "../../../base/domain/constraint.ts";

type Body = Readonly<Record<string, unknown>>;

/**
 * Adds faults for a tool choice without tools, for an unknown tool, and for a conflict between tools and a constraint.
 * The body is unchecked, so any member may have any type.
 */
export function checkCalls(body: Body, findings: Findings): void {
  const { tools, tool_choice: choice } = body;
  if (Array.isArray(tools)) checkTools(tools, findings);
  if (choice === undefined || choice === null || choice === "none") return;
  if (tools === undefined || tools === null)
    valueError(findings, "When using `tool_choice`, `tools` must be set.");
  const names = new Set((Array.isArray(tools) ? tools : []).map(nameIn));
  const name = nameIn(choice);
  const type = isObject(choice) && typeof choice["type"] === "string" ? choice["type"] : "";
  if (
    isObject(choice) &&
    ["function", "custom", "allowed_tools"].includes(type) &&
    (choice[type] ?? null) === null
  )
    report(findings, "missing", "Field required", "tool_choice", type);
  if (name !== null && Array.isArray(tools) && !names.has(name)) {
    const message = `The ${type} ${quoted(name)} of tool_choice is not among the tools; name one of them.`;
    valueError(findings, message, type, "name");
  }
  const isForced =
    choice === "required" || name !== null || checkAllowed(choice, names, findings) === "required";
  const isHeld = constraintsIn(body).some((held) => held !== "response_format");
  if (isForced && isFilled(tools) && isHeld) {
    const given = name === null ? '"required"' : `a ${type}`;
    valueError(
      findings,
      `An answer that must call tools cannot keep structured_outputs too, and tool_choice is ${given}; leave one of them out.`,
    );
  }
}

/** Adds faults of the tools. Among other things, their names must be unique, because the model calls tools by name. */
function checkTools(tools: readonly unknown[], findings: Findings): void {
  const names = new Set<string>();
  tools.forEach((tool, index) => {
    checkTool(tool, index, findings);
    const name = nameIn(tool);
    if (name === null || !isObject(tool)) return;
    if (names.has(name)) {
      const message = `Value error, Another tool has the name ${quoted(name)} too; give each a name of its own.`;
      report(findings, "value_error", message, "tools", String(index), String(tool["type"]), "name");
    }
    names.add(name);
  });
}

/** Adds the faults of a list of allowed tools. Returns the list's mode; null if the tool choice has no such list. */
function checkAllowed(choice: unknown, names: ReadonlySet<string | null>, findings: Findings): unknown {
  const allowed = isObject(choice) && choice["type"] === "allowed_tools" ? choice["allowed_tools"] : null;
  if (!isObject(allowed) || !Array.isArray(allowed["tools"])) return null;
  allowed["tools"].forEach((tool: unknown, index) => {
    const name = nameIn(tool);
    const place = ["allowed_tools", "tools", String(index)];
    if (name === null) valueError(findings, "An allowed tool is given by its type and its name.", ...place);
    else if (!names.has(name))
      valueError(findings, `The tool ${quoted(name)} is not among the tools; name one of them.`, ...place);
  });
  if (allowed["tools"].length === 0 && allowed["mode"] === "required")
    valueError(
      findings,
      "A tool must be called, and none may be; allow at least one.",
      "allowed_tools",
      "tools",
    );
  return allowed["mode"];
}

function valueError(findings: Findings, message: string, ...below: readonly string[]): void {
  report(findings, "value_error", `Value error, ${message}`, "tool_choice", ...below);
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Returns the tool's name in an item of `tools`, a tool choice or a list of allowed tools; null if it has none. */
function nameIn(value: unknown): string | null {
  if (!isObject(value)) return null;
  const named = value["type"] === "custom" ? value["custom"] : value["function"];
  return isObject(named) && typeof named["name"] === "string" ? named["name"] : null;
}

/** Returns the tool calls that a checked body allows. Without tools, a tool choice has no effect. */
export function readCalls(body: ChatRequestBody): ChatCalls {
  return {
    choice: isFilled(body.tools) ? choiceOf(body.tool_choice ?? null) : undefined,
    areParallel: body.parallel_tool_calls ?? true,
    // A response format describes only the final answer, which follows the tool calls, so the calls are exempt from it.
    areExempt: constraintsIn(body).includes("response_format"),
    texts: textToolsOf(body.tools ?? []),
  };
}

function choiceOf(choice: NonNullable<ChatRequestBody["tool_choice"]> | null): ToolChoice | undefined {
  if (choice === null) return undefined;
  if (typeof choice === "string") return { kind: choice };
  const { allowed_tools: allowed } = choice;
  const name = nameIn(choice);
  if (choice.type !== "allowed_tools" || !allowed) return { kind: "named", name: name ?? "" };
  const names = allowed.tools.map(nameIn).filter((one) => one !== null);
  return names.length === 0 ? { kind: "none" } : { kind: allowed.mode, allowed: names };
}

// Tool of a request. A custom tool takes one text instead of arguments; Hone converts it to a function with this text
// as its only argument, because every chat template can show a function.
type Tool = NonNullable<ChatRequestBody["tools"]>[number];

/** Adds faults for a tool that lacks members which its type requires. The tool is unchecked. */
function checkTool(tool: unknown, index: number, findings: Findings): void {
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

/** Returns a tool in the form that chat templates know. A custom tool becomes a function. */
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

/** Returns the custom tools of a request, each with the grammar that its text must match. */
function textToolsOf(tools: readonly Tool[]): readonly TextTool[] {
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

/** Returns a message in which calls of custom tools have become function calls. */
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
