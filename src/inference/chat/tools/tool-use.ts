// Interprets the tools of a request for the model that it names: which tools may be called, and whether a call is
// required. Refuses required calls if the model makes no tool calls.
import { chatFault, type ChatRequest, type ToolChoice } from "../../../base/domain/chat.ts";
import { cut, ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { ServedBase } from "../served-base.ts";
import type { CallFormat } from "./call-format.ts";
import { argumentsSchema, functionOf, takesObjects } from "./arguments-schema.ts";

/** Returns the tools that the model sees; none if the prompt is not a conversation. */
export function toolsOf({ prompt }: ChatRequest): readonly JsonObject[] {
  return prompt.kind === "conversation" ? (prompt.tools ?? []) : [];
}

/** True if calls of the tool must match its schema even if the tool choice is `auto`. */
export function isStrict(tool: JsonObject): boolean {
  return functionOf(tool).strict === true;
}

/**
 * Returns the tool choice of the request. If the request has none, returns `auto` if it has tools and the model's
 * calls are parsed, else `none`.
 */
export function resolveToolChoice(
  request: ChatRequest,
  { replies }: Pick<ServedBase, "replies">,
): ToolChoice {
  if (toolsOf(request).length === 0 || replies.callFormat === null) return { kind: "none" };
  return request.calls.choice ?? { kind: "auto" };
}

/** True if the choice allows a call of the tool with this name. */
export function allows(choice: ToolChoice, name: string): boolean {
  switch (choice.kind) {
    case "none":
      return false;
    case "named":
      return choice.name === name;
    default:
      return choice.allowed?.includes(name) ?? true;
  }
}

/** Returns a notice for the client if the model sees its tools but the model's calls are not parsed; otherwise null. */
export function uncalledToolsNotice(
  request: ChatRequest,
  { replies, model }: Pick<ServedBase, "model" | "replies">,
): string | null {
  const isAnswered = request.calls.choice !== undefined || replies.callFormat !== null;
  if (isAnswered || toolsOf(request).length === 0) return null;
  return `tools are shown to the model, but no calls are read from its answer: chat.toolCalls is off for ${model.name}`;
}

/**
 * Refuses tool use that the model or its call format does not support.
 *
 * @throws ServiceError `invalid` if the choice requires or allows calls, but the model makes none; `unsupported` if
 * calls must match a schema that accepts no object, or that the format cannot enforce
 */
export function refuseCalls(request: ChatRequest, base: Pick<ServedBase, "model" | "replies">): void {
  const { choice } = request.calls;
  const { model, replies } = base;
  if (replies.callFormat === null && choice !== undefined && choice.kind !== "none") {
    const message = `The model ${model.name} calls no tools (chat.toolCalls is off for it), so \`calls.choice\` can only be "none"; send that, or leave it out.`;
    const faults = [chatFault("calls.choice", { message, type: "value_error" })];
    throw new ServiceError({ code: "invalid", faults });
  }
  const faults = argumentFaults(request, resolveToolChoice(request, base), replies.callFormat);
  if (faults.length > 0) throw new ServiceError({ code: "unsupported", faults });
}

/**
 * Returns a fault for each tool whose calls must match a schema, if that schema accepts no object or the model's call
 * format cannot enforce it.
 */
function argumentFaults(
  request: ChatRequest,
  choice: ToolChoice,
  format: CallFormat | null,
): readonly Fault[] {
  return toolsOf(request).flatMap((tool, index) => {
    const isKept = choice.kind !== "auto" || isStrict(tool);
    if (!isKept || !allows(choice, functionOf(tool).name)) return [];
    const fault = (keyword: string, message: string): Fault =>
      chatFault("prompt.tools", {
        message,
        type: "unsupported",
        below: [String(index), "function", "parameters", keyword],
      });
    const type = functionOf(tool).parameters?.["type"];
    if (!takesObjects(type)) {
      const shown = cut(JSON.stringify(type));
      return [
        fault(
          "type",
          `The arguments of a function are an object, but their type here is ${shown}; send "object".`,
        ),
      ];
    }
    const refusal = format?.refusal(argumentsSchema(tool)) ?? null;
    return refusal === null ? [] : [fault(refusal.keyword, refusal.message)];
  });
}

/** Returns the fault of a request whose calls need a constraint that the engine does not support. */
export function unsupportedCallsFault(request: ChatRequest): Fault {
  const type = "unsupported";
  const { choice } = request.calls;
  if (choice?.kind === "required" || choice?.kind === "named") {
    const message =
      '`calls.choice` asks for calls that keep a schema, which the engine of this model does not offer; send "auto" or "none".';
    return chatFault("calls.choice", { message, type });
  }
  const strict = toolsOf(request).findIndex(isStrict);
  if (strict < 0) {
    const message =
      "`prompt.tools` needs constrained calls, which the engine of this model does not offer; leave it out.";
    return chatFault("prompt.tools", { message, type });
  }
  const message = "strict is not offered by the engine of this model; leave it out, or send false.";
  return chatFault("prompt.tools", { message, type, below: [String(strict), "function", "strict"] });
}
