// Reads the chat of a traced call, which has the request in its inputs and the answers in its output. Pure.
import {
  exactJsonText,
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
  type ExactJsonObject,
} from "../../../base/domain/text/exact-json.ts";
import type { TracedCall } from "../../../base/domain/traces/traced-call.ts";

export interface TracedChat {
  readonly call: TracedCall;
  readonly messages: readonly ExactJsonObject[];
  /** Tools of the request; null if it has none. */
  readonly tools: ExactJson;
  readonly answers: readonly ExactJsonObject[];
}

/** Returns the chat of a call, or the reason why it cannot be used. */
export function chatOf(call: TracedCall): TracedChat | string {
  if (call.end === null) return "the call has not ended";
  const inputs = parseExactJson(call.inputs);
  const output = parseExactJson(call.end.output);
  const messages = isExactObject(inputs) ? objectsIn(inputs["messages"]) : [];
  const choices = output !== null && isExactObject(output) ? objectsIn(output["choices"]) : [];
  if (!isExactObject(inputs) || messages.length === 0) return "the call is no chat";
  if (choices.some((choice) => choice["finish_reason"] === "length")) return "the answer was cut off";
  const answers = choices.flatMap(({ message }) =>
    message !== undefined && isExactObject(message) ? [message] : [],
  );
  if (answers.length === 0) return "the chat has no answer";
  const { tools = null } = inputs;
  return { call, messages, tools: isExactList(tools) && tools.length > 0 ? tools : null, answers };
}

function objectsIn(value: ExactJson | undefined): readonly ExactJsonObject[] {
  return value !== undefined && isExactList(value) ? value.filter((item) => isExactObject(item)) : [];
}

/** Returns a text that is equal for equal messages, whichever library wrote them. */
export function messageKey({ role, content, tool_calls: calls, tool_call_id: id }: ExactJsonObject): string {
  const list = calls !== undefined && isExactList(calls) ? calls : [];
  return exactJsonText([role ?? null, content ?? null, list, id ?? null]);
}
