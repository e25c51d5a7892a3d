// What a tool says of the function that it calls, and the schema that its arguments keep.
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";

/** What a tool calls, in the API's own spelling. */
interface ToolFunction {
  readonly name: string;
  readonly parameters?: JsonObject | null;
  readonly strict?: boolean | null;
}

export function functionOf(tool: JsonObject): ToolFunction {
  // The request was checked.
  return tool["function"] as unknown as ToolFunction;
}

/** What a tool's arguments must keep where they must keep anything: they are an object, whether or not it says so. */
export function argumentsSchema(tool: JsonObject): JsonObject {
  const { type, ...rest } = functionOf(tool).parameters ?? {};
  return { type: takesObjects(type) ? "object" : type, ...rest };
}

/** Whether a schema of this type takes an object, as what may be null besides does too. */
export function takesObjects(type: Json | undefined): boolean {
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}
