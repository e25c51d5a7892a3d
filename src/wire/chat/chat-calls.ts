// Which tools an answer may call: `tool_choice` and `parallel_tool_calls`, and what of them contradicts the tools. Whether
// the model can call any is not asked here.
import type { ChatCalls, ToolChoice } from "../../domain/chat.ts";
import { quoted } from "../../domain/service-error.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import { constraintsIn } from "./chat-constraint.ts";
import type { ChatRequestBody } from "./chat-request.ts";

type Body = Readonly<Record<string, unknown>>;

/** Adds a fault for a choice without tools, of a tool that is not there, or against a constraint; looks at raw values. */
export function checkCalls(body: Body, findings: Findings): void {
  const { tools, tool_choice: choice } = body;
  if (choice === undefined || choice === null || choice === "none") return;
  if (tools === undefined || tools === null)
    valueError(findings, "When using `tool_choice`, `tools` must be set.");
  const name = nameIn(choice);
  if (name !== null && Array.isArray(tools) && !tools.some((tool) => nameIn(tool) === name)) {
    const message = `The function ${quoted(name)} of tool_choice is not among the tools; name one of them.`;
    valueError(findings, message, "function", "name");
  }
  const isForced = choice === "required" || name !== null;
  const isHeld = constraintsIn(body).some((held) => held !== "response_format");
  if (isForced && isFilled(tools) && isHeld) {
    const given = name === null ? '"required"' : "a function";
    valueError(
      findings,
      `An answer that must call tools cannot keep structured_outputs too, and tool_choice is ${given}; leave one of them out.`,
    );
  }
}

function valueError(findings: Findings, message: string, ...below: readonly string[]): void {
  report(findings, "value_error", `Value error, ${message}`, "tool_choice", ...below);
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** The name of the function in a tool, or in a choice of one. */
function nameIn(value: unknown): string | null {
  if (!isObject(value) || !isObject(value["function"])) return null;
  const { name } = value["function"];
  return typeof name === "string" ? name : null;
}

/** Reads them from a checked body; without tools no choice says anything. */
export function readCalls(body: ChatRequestBody): ChatCalls {
  return {
    choice: isFilled(body.tools) ? choiceOf(body.tool_choice) : undefined,
    areParallel: body.parallel_tool_calls ?? true,
    // A format says what the answer is to look like in the end; calls come before it.
    areExempt: constraintsIn(body).includes("response_format"),
  };
}

function choiceOf(choice: ChatRequestBody["tool_choice"]): ToolChoice | undefined {
  if (choice === null || choice === undefined) return undefined;
  return typeof choice === "string" ? { kind: choice } : { kind: "named", name: choice.function.name };
}
