// Checks the messages of training conversations for faults that a schema cannot detect. Only the assistant's messages
// are trained.
import { Type } from "typebox";
import { textOfPart } from "../../../base/domain/content-part.ts";
import { isJson, type Json } from "../../../base/domain/text/json.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { messageSchema } from "../chat/fields/conversation-fields.ts";
import { nullable } from "../nullable.ts";

export const exampleMessageSchema = Type.Object(
  {
    ...messageSchema.properties,
    weight: nullable(Type.Integer({ minimum: 0, maximum: 1 }), {
      default: 1,
      description:
        "In an assistant message: 0 excludes the message from training, so that it is only context for later messages.",
    }),
  },
  { additionalProperties: true, title: "ExampleMessage" },
);

/**
 * Adds faults that the schema cannot detect. Messages must be text, and the assistant's must not be empty.
 *
 * @param place path of the list of messages, relative to the findings' current path
 * @returns `hasAnswer`: true if at least one message is trained
 */
export function checkExampleMessages(
  messages: readonly unknown[],
  findings: Findings,
  place: readonly string[],
): { readonly hasAnswer: boolean } {
  const trained = messages.map((message, index) =>
    checkExampleMessage(message, findings, [...place, String(index)]),
  );
  return { hasAnswer: trained.includes(true) };
}

/**
 * Checks one message of a conversation.
 *
 * @returns true if the model is trained on the message: it is the assistant's, and its weight is not 0
 */
export function checkExampleMessage(message: unknown, findings: Findings, place: readonly string[]): boolean {
  if (!isObject(message)) return false;
  checkContent(message["content"], findings, place);
  if (message["role"] !== "assistant") return false;
  checkAnswer(message, findings, place);
  return message["weight"] !== 0;
}

function checkAnswer(
  { function_call: call, tool_calls: calls, content }: Readonly<Record<string, unknown>>,
  findings: Findings,
  place: readonly string[],
): void {
  if (isObject(call)) {
    const fault =
      'function_call is the older spelling of a call: send it in tool_calls, as [{type: "function", function: {name, arguments}}].';
    report(findings, "unsupported", fault, ...place, "function_call");
  } else if (Array.isArray(calls) && calls.length > 0) checkCalls(calls, findings, place);
  else if ((content ?? "") === "") {
    report(findings, "missing", "An assistant's message needs content or tool_calls.", ...place, "content");
  }
}

function checkContent(content: unknown, findings: Findings, place: readonly string[]): void {
  if (!Array.isArray(content)) return;
  content.forEach((part: Json, index) => {
    if (textOfPart(part) !== null) return;
    report(findings, "unsupported", "Only text trains.", ...place, "content", String(index));
  });
}

/** Checks the tool calls of a message. Their arguments must be JSON, because chat templates show them as objects. */
function checkCalls(calls: readonly unknown[], findings: Findings, place: readonly string[]): void {
  calls.forEach((call, index) => {
    const called = isObject(call) && isObject(call["function"]) ? call["function"] : null;
    const at = [...place, "tool_calls", String(index), "function"];
    if (called === null || typeof called["name"] !== "string") {
      return report(findings, "missing", "A call needs the name of its function.", ...at, "name");
    }
    const { arguments: text } = called;
    if (typeof text === "string" && !isJson(text))
      report(findings, "json_invalid", "The arguments of a call are JSON.", ...at, "arguments");
  });
}
