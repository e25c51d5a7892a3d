// Ids of tool calls, by which a client matches results to calls.
import { newUuid } from "../../../base/domain/random.ts";

/** Returns an id in vLLM's form. */
export function longCallId(): string {
  return `chatcmpl-tool-${randomHex()}`;
}

/** Returns nine letters and digits: templates of Mistral models refuse any other id. */
export function shortCallId(): string {
  return randomHex().slice(0, 9);
}

function randomHex(): string {
  return newUuid().replaceAll("-", "");
}
