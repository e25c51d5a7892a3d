// Ids of tool calls, by which a client says which result belongs to which call.
import { newUuid } from "../../../base/domain/random.ts";

/** As vLLM makes them. */
export function longCallId(): string {
  return `chatcmpl-tool-${randomHex()}`;
}

/** Nine letters and digits: templates of Mistral models refuse any other id. */
export function shortCallId(): string {
  return randomHex().slice(0, 9);
}

function randomHex(): string {
  return newUuid().replaceAll("-", "");
}
