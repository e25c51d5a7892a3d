// Which tools an answer may call: `tool_choice` and `parallel_tool_calls`, and what of them contradicts the tools. Whether
// the model can call any is not asked here.
import type { ChatCalls, ToolChoice } from "../../../base/domain/chat.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { constraintsIn } from "./chat-constraint.ts";
import type { ChatRequestBody } from "./chat-request.ts";
import { checkTool, textToolsOf } from "./custom-tools.ts";

type Body = Readonly<Record<string, unknown>>;

/** Adds a fault for a choice without tools, of a tool that is not there, or against a constraint; looks at raw values. */
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

/** Tools are called by their names: two of one name could not be told apart. */
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

/** Returns the mode; null where the choice allows no list of tools. */
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

/** The name of a tool, or of what a choice or a list names. */
function nameIn(value: unknown): string | null {
  if (!isObject(value)) return null;
  const named = value["type"] === "custom" ? value["custom"] : value["function"];
  return isObject(named) && typeof named["name"] === "string" ? named["name"] : null;
}

/** Reads them from a checked body; without tools no choice says anything. */
export function readCalls(body: ChatRequestBody): ChatCalls {
  return {
    choice: isFilled(body.tools) ? choiceOf(body.tool_choice ?? null) : undefined,
    areParallel: body.parallel_tool_calls ?? true,
    // A format says what the answer is to look like in the end; calls come before it.
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
