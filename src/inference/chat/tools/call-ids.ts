// Creates ids of tool calls. A client uses the id of a call to say which call a result belongs to.
import { newUuid } from "../../../base/domain/random.ts";

/** Returns an id in vLLM's form. */
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
