// Reads the function that a tool declares, and the schema of its arguments.
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";

/** A tool's function, with the API's field names. */
interface ToolFunction {
  readonly name: string;
  readonly parameters?: JsonObject | null;
  readonly strict?: boolean | null;
}

export function functionOf(tool: JsonObject): ToolFunction {
  // Safe cast: the request has been validated.
  return tool["function"] as unknown as ToolFunction;
}

/**
 * Returns the schema for a tool's arguments. Arguments are always an object, even if the tool's schema does not say
 * so.
 */
export function argumentsSchema(tool: JsonObject): JsonObject {
  const { type, ...rest } = functionOf(tool).parameters ?? {};
  return { type: takesObjects(type) ? "object" : type, ...rest };
}

/** True if a schema of this type accepts an object, possibly besides null. */
export function takesObjects(type: Json | undefined): boolean {
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}
