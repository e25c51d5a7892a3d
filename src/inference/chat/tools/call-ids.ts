// Creates ids of tool calls. A client that returns the result of a call refers to the call by this id.
import { newUuid } from "../../../base/domain/random.ts";

/** Returns an id in the form that vLLM uses. */
export function longCallId(): string {
  return `chatcmpl-tool-${randomHex()}`;
}

/** Returns an id of nine letters and digits. Templates of Mistral models refuse ids in any other form. */
export function shortCallId(): string {
  return randomHex().slice(0, 9);
}

function randomHex(): string {
  return newUuid().replaceAll("-", "");
}
