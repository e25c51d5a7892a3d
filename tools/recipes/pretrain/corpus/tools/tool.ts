// Tools as exercises know them, and the three ways to write them: as the chat template shows them, as a client sends them,
// and called. A test holds the first against the template itself.
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

/** `price(item: string)`: the line that the template writes for a tool. */
export function signatureOf({ name, parameters, description }: Tool): string {
  const listed = parameters.map((parameter) => `${parameter.name}: ${parameter.type}`).join(", ");
  return `${name}(${listed})${description === null ? "" : ` ${description}`}`;
}

/** Returns the tool as a request declares it. */
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

/** Returns a call with a value for each parameter, in their order. */
export function callOf(tool: Tool, ...values: readonly (string | number)[]): string {
  const given = tool.parameters.map(
    ({ name }, index) => `${JSON.stringify(name)}: ${JSON.stringify(values[index])}`,
  );
  return `<tool_call>\n{"name": ${JSON.stringify(tool.name)}, "arguments": {${given.join(", ")}}}\n</tool_call>`;
}
