// A tool, and three ways to write it: as the chat template shows it, as a request declares it, and as a call. A test
// compares the first way with the actual template.
import type { JsonObject } from "../../../../../src/base/domain/text/json.ts";

export interface Parameter {
  readonly name: string;
  readonly type: "string" | "number";
}

export interface Tool {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly description: string | null;
}

/** Returns the line that the template writes for a tool, such as `price(item: string)`. */
export function signatureOf({ name, parameters, description }: Tool): string {
  const listed = parameters.map((parameter) => `${parameter.name}: ${parameter.type}`).join(", ");
  return `${name}(${listed})${description === null ? "" : ` ${description}`}`;
}

/** Returns the tool's declaration as in a request. */
export function schemaOf({ name, parameters, description }: Tool): JsonObject {
  const properties = Object.fromEntries(
    parameters.map((parameter) => [parameter.name, { type: parameter.type }]),
  );
  const required = parameters.map((parameter) => parameter.name);
  return {
    type: "function",
    function: {
      name,
      ...(description === null ? {} : { description }),
      parameters: { type: "object", properties, required },
    },
  };
}

/** Returns a call of the tool; `values` are the arguments in the order of its parameters. */
export function callOf(tool: Tool, ...values: readonly (string | number)[]): string {
  const given = tool.parameters.map(
    ({ name }, index) => `${JSON.stringify(name)}: ${JSON.stringify(values[index])}`,
  );
  return `<tool_call>\n{"name": ${JSON.stringify(tool.name)}, "arguments": {${given.join(", ")}}}\n</tool_call>`;
}
