// From the places of a chat request to those of the request for a response that it was made of.
import { ServiceError, type Fault } from "../../domain/service-error.ts";
import type { MessageOrigin } from "./input-messages.ts";

type Place = readonly string[];

/** Fields of a chat request, below the body, that stand elsewhere. */
const moved: readonly (readonly [chat: Place, sent: Place])[] = [
  [["messages"], ["input"]],
  [["max_completion_tokens"], ["max_output_tokens"]],
  [["reasoning_effort"], ["reasoning", "effort"]],
  [["logprobs"], ["include"]],
  [["tool_choice", "function"], ["tool_choice"]],
  [
    ["response_format", "json_schema"],
    ["text", "format"],
  ],
  [["response_format"], ["text", "format"]],
];

/** The same error with its faults where the client sent what they speak of. */
export function sentError(error: unknown, origins: readonly MessageOrigin[]): unknown {
  if (!(error instanceof ServiceError) || error.constructor !== ServiceError) return error;
  const { code, message, retryAfterSeconds, obstacle } = error;
  return new ServiceError({
    code,
    message,
    faults: error.faults.map((fault) => sentFault(fault, origins)),
    cause: error,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(obstacle === undefined ? {} : { obstacle }),
  });
}

export function sentFault(fault: Fault, origins: readonly MessageOrigin[]): Fault {
  return { ...fault, location: sentPlace(fault.location, origins) };
}

/** @param location what stands in a chat request's body begins with `body` */
export function sentPlace(location: Place, origins: readonly MessageOrigin[]): Place {
  const [part, ...place] = location;
  if (part !== "body") return location;
  const [field, index = "", ...below] = place;
  const origin = field === "messages" ? origins[Number(index)] : undefined;
  if (index !== "" && origin !== undefined) return ["body", ...messagePlace(origin, below)];
  // A tool has no object of its own for its function.
  if (field === "tools" && below[0] === "function") return ["body", field, index, ...below.slice(1)];
  const [chat, sent] = moved.find(([begin]) => begin.every((name, at) => place[at] === name)) ?? [[], []];
  return ["body", ...sent, ...place.slice(chat.length)];
}

function messagePlace({ place, callPlaces }: MessageOrigin, below: Place): Place {
  const call = below[0] === "tool_calls" ? callPlaces[Number(below[1])] : undefined;
  if (call !== undefined) return [...call, ...below.slice(2).filter((name) => name !== "function")];
  // A text that stands for a message has nothing below it.
  return place.length === 1 ? place : [...place, ...below];
}
