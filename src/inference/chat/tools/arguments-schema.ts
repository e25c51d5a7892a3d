// The function that a tool declares, and the schema of its arguments.
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";

/** A tool's function, in the API's own spelling. */
interface ToolFunction {
  readonly name: string;
  readonly parameters?: JsonObject | null;
  readonly strict?: boolean | null;
}

export function functionOf(tool: JsonObject): ToolFunction {
  // Safe cast: the request was checked.
  return tool["function"] as unknown as ToolFunction;
}

/** Returns the schema that a tool's arguments must match. Arguments are an object, even if the schema does not say so. */
export function argumentsSchema(tool: JsonObject): JsonObject {
  const { type, ...rest } = functionOf(tool).parameters ?? {};
  return { type: takesObjects(type) ? "object" : type, ...rest };
}

/** True if a schema of this type accepts an object, also if it accepts null too. */
export function takesObjects(type: Json | undefined): boolean {
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}
