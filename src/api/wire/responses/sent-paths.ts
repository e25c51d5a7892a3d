// Translates paths in a chat request to paths in the Responses API request from which the chat request was built.
import type { Fault } from "../../../base/domain/service-error.ts";
import { relocate } from "../field-paths.ts";
import type { MessageOrigin } from "./input-messages.ts";
import { isShownType } from "./responses-request.ts";

type Place = readonly string[];

/** For the parts of a chat request, the paths in the client's request from which they were built. */
export interface SentOrigins {
  readonly messages: readonly MessageOrigin[];
  /** For each tool of the chat request, its index in the client's request. */
  readonly tools: readonly number[];
}

/** Fields of a chat request that have another path in the Responses API. All paths are relative to the body. */
const moved: readonly (readonly [chat: Place, sent: Place])[] = [
  [["messages"], ["input"]],
  [["max_completion_tokens"], ["max_output_tokens"]],
  [["reasoning_effort"], ["reasoning", "effort"]],
  [["logprobs"], ["include"]],
  [["tool_choice", "function"], ["tool_choice"]],
  [["tool_choice", "custom"], ["tool_choice"]],
  [["tool_choice", "allowed_tools"], ["tool_choice"]],
  [
    ["response_format", "json_schema"],
    ["text", "format"],
  ],
  [["response_format"], ["text", "format"]],
];

/** Returns the error with each fault at the path where the client sent the field. */
export function toSentError(error: unknown, origins: SentOrigins): unknown {
  return relocate(error, (location) => toSentPath(location, origins));
}

export function toSentFault(fault: Fault, origins: SentOrigins): Fault {
  return { ...fault, location: toSentPath(fault.location, origins) };
}

/**
 * Returns the path at which the client sent a field.
 *
 * @param location path in the chat request, which begins with `body`
 */
export function toSentPath(location: Place, origins: SentOrigins): Place {
  const [part, ...place] = location;
  if (part !== "body") return location;
  const [field, index = "", ...below] = place;
  const origin = field === "messages" ? origins.messages[Number(index)] : undefined;
  if (index !== "" && origin !== undefined) return ["body", ...messagePath(origin, below)];
  if (field === "tools" && index !== "") {
    const sentIndex = String(origins.tools[Number(index)] ?? index);
    // In the Responses API, the members of a tool's function and grammar are members of the tool itself, without
    // separate objects.
    const isMoved = (name: string, at: number): boolean =>
      (at === 0 && isShownType(name)) || (at === 2 && name === "grammar");
    return ["body", field, sentIndex, ...below.filter((name, at) => !isMoved(name, at))];
  }
  const [chat, sent] = moved.find(([begin]) => begin.every((name, at) => place[at] === name)) ?? [[], []];
  return ["body", ...sent, ...place.slice(chat.length)];
}

function messagePath({ place, callPaths }: MessageOrigin, below: Place): Place {
  const call = below[0] === "tool_calls" ? callPaths[Number(below[1])] : undefined;
  if (call !== undefined) return [...call, ...below.slice(2).filter((name) => name !== "function")];
  // A message that is a single text has no paths within it. Faults in it get the path of the text.
  return place.length === 1 ? place : [...place, ...below];
}
