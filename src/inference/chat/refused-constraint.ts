// Finds the field at fault when an engine refuses a constraint: the request's own constraint, or a tool whose schema is
// part of the constraint. The engine cannot find the field, because it does not know the fields of chat requests.
import { chatFault, type ChatRequest } from "../../base/domain/chat.ts";
import { ServiceError, type Fault } from "../../base/domain/service-error.ts";
import {
  exactJsonText,
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
} from "../../base/domain/text/exact-json.ts";
import { functionOf } from "./tools/arguments-schema.ts";
import { callableTool, type ReplyPlan } from "./tools/reply-plan.ts";
import { allows, toolsOf } from "./tools/tool-use.ts";

/**
 * Translates the error of a generation. If a constraint was refused, the result names the field from which it comes.
 *
 * @param reply plan with the constraint that the engine received, which may include the request's tools
 */
export function locateRefusal(
  error: unknown,
  request: ChatRequest,
  reply: Pick<ReplyPlan, "constraint" | "form">,
): unknown {
  const { constraint } = reply;
  if (constraint === null || !(error instanceof ServiceError)) return error;
  const { code, message, faults } = error;
  if (code !== "unsupported" || faults.length > 0) return error;
  const fault = constraint === request.constraint ? ownFault(message) : foundFault(message, request, reply);
  return new ServiceError({ code, faults: [fault], cause: error });
}

function ownFault(message: string): Fault {
  return chatFault("constraint", { message, type: "unsupported" });
}

/** Returns the fault for a JSON pointer into a constraint that was composed from the request's tools. */
function foundFault(
  message: string,
  request: ChatRequest,
  { constraint, form: { calls } }: Pick<ReplyPlan, "constraint" | "form">,
): Fault {
  const [, place, said] = /^In the content at #(\S*): (.*)$/s.exec(message) ?? [];
  if (place === undefined)
    return request.constraint === null ? wholeFault(message, request) : ownFault(message);
  if (constraint?.kind !== "structural-tag") return ownFault(message);
  const around = new Set(valuesAt(parseExactJson(constraint.tag), place).map(exactJsonText));
  const index = toolsOf(request).findIndex((tool) =>
    calls?.format.tags(callableTool(request, tool)).some((tag) => around.has(exactJsonText(tag))),
  );
  if (index < 0) return ownFault(request.constraint?.kind === "structural-tag" ? message : said);
  return toolFault(said, request, index);
}

/**
 * Returns the fault for a constraint that allows only calls of tools and that no answer can satisfy. If only one tool
 * may be called, the fault is located at that tool's schema.
 */
function wholeFault(message: string, request: ChatRequest): Fault {
  const { choice } = request.calls;
  const callable = toolsOf(request).flatMap((tool, index) => {
    const { name } = functionOf(tool);
    return choice === undefined || allows(choice, name) ? [index] : [];
  });
  if (callable.length === 1) return toolFault(message, request, callable[0]);
  return chatFault("prompt.tools", { message, type: "unsupported" });
}

function toolFault(message: string, request: ChatRequest, index: number): Fault {
  const { name } = functionOf(toolsOf(request)[index]);
  const takesText = request.calls.texts.some((text) => text.name === name);
  const below = [String(index), ...(takesText ? ["custom", "format"] : ["function", "parameters"])];
  return chatFault("prompt.tools", { message, type: "unsupported", below });
}

/**
 * Returns the values along the path of a JSON pointer. Assumes that the pointer contains no escapes, which is true of
 * all pointers that reach this function.
 */
function valuesAt(tag: ExactJson, pointer: string): readonly ExactJson[] {
  const values: ExactJson[] = [tag];
  for (const name of pointer.split("/").slice(1)) {
    const value = values[values.length - 1];
    const next = isExactList(value) ? value[Number(name)] : isExactObject(value) ? value[name] : undefined;
    if (next === undefined) break;
    values.push(next);
  }
  return values;
}
