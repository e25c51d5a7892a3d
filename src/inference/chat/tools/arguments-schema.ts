// Reads the function that a tool declares, and the JSON Schema of its arguments.
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

/** Returns the schema of a tool's arguments. The type defaults to an object, because arguments always are one. */
export function argumentsSchema(tool: JsonObject): JsonObject {
  const { type, ...rest } = functionOf(tool).parameters ?? {};
  return { type: takesObjects(type) ? "object" : type, ...rest };
}

/** True if a schema of this type accepts an object, possibly besides null. */
export function takesObjects(type: Json | undefined): boolean {
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}
