// Translates paths in a chat request to paths in the Messages API request from which the chat request was built.
import { relocate } from "../field-paths.ts";
import type { MessageOrigin } from "./input-messages.ts";

type Place = readonly string[];

/** For the parts of a chat request, the paths in the client's request from which they were built. */
export interface SentOrigins {
  readonly messages: readonly MessageOrigin[];
  /** For each tool of the chat request, its index in the client's request. */
  readonly tools: readonly number[];
  /** Path of the answer's format in the client's request. */
  readonly format: Place;
}

/** Fields of a chat request that have another path in the Messages API. All paths are relative to the body. */
const moved: readonly (readonly [chat: Place, sent: Place])[] = [
  [["stop"], ["stop_sequences"]],
  [["user"], ["metadata", "user_id"]],
  [["reasoning_effort"], ["output_config", "effort"]],
  [["thinking_token_budget"], ["thinking", "budget_tokens"]],
  [["include_reasoning"], ["thinking", "display"]],
  [["parallel_tool_calls"], ["tool_choice", "disable_parallel_tool_use"]],
  [["tool_choice", "function"], ["tool_choice"]],
  [["continue_final_message"], ["messages"]],
];

/** Members of tool calls and tool results that have another name in the Messages API. */
const memberNames: Readonly<Record<string, string>> = { arguments: "input", tool_call_id: "tool_use_id" };

/** Returns the error with each fault at the path where the client sent the field. */
export function toSentError(error: unknown, origins: SentOrigins): unknown {
  return relocate(error, (location) => toSentPath(location, origins));
}

/**
 * Returns the path at which the client sent a field.
 *
 * @param location path in the chat request, which begins with `body`
 */
export function toSentPath(location: Place, { messages, tools, format }: SentOrigins): Place {
  const [part, ...place] = location;
  if (part !== "body") return location;
  const [name, index = "", ...below] = place;
  const origin = name === "messages" ? messages[Number(index)] : undefined;
  if (index !== "" && origin !== undefined) return ["body", ...messagePath(origin, below)];
  if (name === "tools" && index !== "") {
    // In the Messages API, the members of a tool's object `function` are members of the tool itself.
    const members = below.filter((member, at) => !(at === 0 && member === "function"));
    const sent = members.map((member, at) => (at === 0 && member === "parameters" ? "input_schema" : member));
    return ["body", name, String(tools[Number(index)] ?? index), ...sent];
  }
  if (name === "response_format") return ["body", ...format, ...place.slice(2)];
  const [chat, sent] = moved.find(([begin]) => begin.every((one, at) => place[at] === one)) ?? [[], []];
  return ["body", ...sent, ...place.slice(chat.length)];
}

function messagePath({ place, textPaths, callPaths }: MessageOrigin, below: Place): Place {
  const [member = "", index = "", ...rest] = below;
  const call = member === "tool_calls" ? callPaths[Number(index)] : undefined;
  if (call !== undefined)
    return [...call, ...rest.filter((one) => one !== "function").map((one) => memberNames[one] ?? one)];
  if (member === "content" && textPaths.length === 1) return textPaths[0];
  const text = member === "content" && index !== "" ? textPaths[Number(index)] : undefined;
  if (text !== undefined) return [...text, ...rest];
  return [...place, ...below.map((one) => memberNames[one] ?? one)];
}
