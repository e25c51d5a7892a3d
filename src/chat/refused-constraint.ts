// A constraint is judged by the engine, once it has the request; its words name no field of the caller's.
import { chatFault, type ChatRequest } from "../domain/chat.ts";
import type { Constraint } from "../domain/constraint.ts";
import { ServiceError, type Fault } from "../domain/service-error.ts";
import type { Json } from "../domain/trajectory.ts";
import { argumentsSchema } from "./tools/arguments-schema.ts";
import { toolsOf } from "./tools/tool-use.ts";

/**
 * The error of a generation; a refusal of the constraint names the field it comes from.
 *
 * @param constraint what the engine was given: the request's own, or one that was made of it and its tools
 */
export function locateRefusal(error: unknown, request: ChatRequest, constraint: Constraint | null): unknown {
  if (constraint === null || !(error instanceof ServiceError)) return error;
  const { code, message, faults } = error;
  if (code !== "unsupported" || faults.length > 0) return error;
  const fault =
    constraint === request.constraint ? ownFault(message) : foundFault(message, request, constraint);
  return new ServiceError({ code, faults: [fault], cause: error });
}

function ownFault(message: string): Fault {
  return chatFault("constraint", { message, type: "unsupported" });
}

/** The fault of what stands within a constraint that the client did not write. */
function foundFault(message: string, request: ChatRequest, constraint: Constraint): Fault {
  const [, place, said] = /^In the content at #(\S*): (.*)$/s.exec(message) ?? [];
  if (place === undefined || constraint.kind !== "structural-tag") return ownFault(message);
  const content = JSON.stringify(valueAt(constraint.tag, place));
  const index = toolsOf(request).findIndex((tool) => JSON.stringify(argumentsSchema(tool)) === content);
  if (index < 0) return ownFault(request.constraint?.kind === "structural-tag" ? message : said);
  const below = [String(index), "function", "parameters"];
  return chatFault("prompt.tools", { message: said, type: "unsupported", below });
}

/** @param pointer a JSON pointer to names and indices without escapes */
function valueAt(tag: Json, pointer: string): unknown {
  let value: unknown = tag;
  for (const name of pointer.split("/").slice(1))
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return value;
}
