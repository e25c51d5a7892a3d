// Form of a request of the Responses API. Also checks what a schema cannot express: which types are supported, and
// which members each type of item, tool and tool choice requires.
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { eachObject, isObject, report, type Findings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { checkTokenLimit } from "../chat/chat-limits.ts";
import { responsesFields, responsesRequestSchema } from "./responses-request.ts";

type Members = Readonly<Record<string, unknown>>;

export const responsesForm: BodyForm<typeof responsesRequestSchema> = {
  schema: responsesRequestSchema,
  fields: responsesFields,
  more: checkItems,
  moreUnserved: unservedParts,
};

/** Members that an item must have, by the item's type. Types that are not listed are not supported. */
const itemMembers: Readonly<Record<string, readonly string[]>> = {
  message: ["role", "content"],
  function_call: ["call_id", "name", "arguments"],
  function_call_output: ["call_id", "output"],
  custom_tool_call: ["call_id", "name", "input"],
  custom_tool_call_output: ["call_id", "output"],
  reasoning: [],
};

/** Types of tools that the model can see. */
const toolTypes: readonly unknown[] = ["function", "custom"];

function checkItems(body: Members, findings: Findings): void {
  const { input, text, tools, tool_choice: choice } = body;
  checkTokenLimit(body["max_output_tokens"], "max_output_tokens", findings);
  eachObject(input, (item, index) => {
    const members = itemMembers[typeOf(item, "message")] ?? [];
    for (const member of members) {
      if ((item[member] ?? null) === null)
        report(findings, "missing", "Field required", "input", index, member);
    }
  });
  eachObject(tools, (tool, index) => {
    if (toolTypes.includes(tool["type"]) && (tool["name"] ?? null) === null)
      report(findings, "missing", "Field required", "tools", index, "name");
    checkFormat(tool, index, findings);
  });
  if (isObject(choice) && toolTypes.includes(choice["type"]) && (choice["name"] ?? null) === null)
    report(findings, "missing", "Field required", "tool_choice", "name");
  const format = isObject(text) ? text["format"] : null;
  if (!isObject(format) || format["type"] !== "json_schema") return;
  for (const member of ["name", "schema"]) {
    if ((format[member] ?? null) === null)
      report(findings, "missing", "Field required", "text", "format", member);
  }
}

/** Adds faults for a grammar that lacks its syntax or its definition. */
function checkFormat({ type, format }: Members, index: string, findings: Findings): void {
  if (type !== "custom" || !isObject(format) || format["type"] !== "grammar") return;
  for (const member of ["syntax", "definition"]) {
    if ((format[member] ?? null) === null)
      report(findings, "missing", "Field required", "tools", index, "format", member);
  }
}

function unservedParts({ input, tool_choice: choice }: Members): readonly Fault[] {
  const faults: Fault[] = [];
  const fault = (message: string, ...place: readonly string[]): void =>
    void faults.push({ location: ["body", ...place], message, type: "unsupported" });
  eachObject(input, (item, index) => {
    const type = typeOf(item, "message");
    if (type === "item_reference") fault(noReference, "input", index);
    else if (!Object.hasOwn(itemMembers, type)) {
      const served = Object.keys(itemMembers).join(", ");
      fault(
        `Items of type ${quoted(type)} are not supported by this server; ${served} are.`,
        "input",
        index,
        "type",
      );
    }
  });
  if (isObject(choice) && ![...toolTypes, "allowed_tools"].includes(typeOf(choice, "function")))
    fault(
      "tool_choice is not supported by this server except for none, auto, required, a function, a custom tool and allowed_tools.",
      "tool_choice",
      "type",
    );
  return faults;
}

const noReference =
  "This server stores no items to refer to; send the item itself (clients do so with store false).";

function typeOf(value: Members, otherwise: string): string {
  const type = value["type"] ?? otherwise;
  return typeof type === "string" ? type : otherwise;
}
