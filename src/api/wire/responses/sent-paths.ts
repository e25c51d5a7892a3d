// Translates field paths of a chat request to those of the response request that it was built from.
import type { Fault } from "../../../base/domain/service-error.ts";
import { relocate } from "../field-paths.ts";
import type { MessageOrigin } from "./input-messages.ts";
import { isShownType } from "./responses-request.ts";

type Place = readonly string[];

/** Origins of a chat request's parts. */
export interface SentOrigins {
  readonly messages: readonly MessageOrigin[];
  /** Index at which each tool was sent. */
  readonly tools: readonly number[];
}

/** Fields of a chat request with another path, below the body. */
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

/** Returns the error with faults located where the client sent them. */
export function toSentError(error: unknown, origins: SentOrigins): unknown {
  return relocate(error, (location) => toSentPath(location, origins));
}

export function toSentFault(fault: Fault, origins: SentOrigins): Fault {
  return { ...fault, location: toSentPath(fault.location, origins) };
}

/** @param location a location in a chat request's body, which begins with `body` */
export function toSentPath(location: Place, origins: SentOrigins): Place {
  const [part, ...place] = location;
  if (part !== "body") return location;
  const [field, index = "", ...below] = place;
  const origin = field === "messages" ? origins.messages[Number(index)] : undefined;
  if (index !== "" && origin !== undefined) return ["body", ...messagePath(origin, below)];
  if (field === "tools" && index !== "") {
    const sentIndex = String(origins.tools[Number(index)] ?? index);
    // A tool has no separate object for its function, nor a format for its grammar.
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
  // A text in place of a message has nothing below it.
  return place.length === 1 ? place : [...place, ...below];
}
