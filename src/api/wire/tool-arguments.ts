// Arguments of tool calls, for APIs that return them as a JSON object instead of a text.
import { isObject } from "../../base/validation/findings.ts";
import { JsonText } from "./json-text.ts";

/**
 * Returns the arguments of a call as an object, with numbers as the model wrote them. If the text is no JSON object,
 * for example because the call was truncated, the member `INVALID_JSON` contains the text.
 */
export function argumentsOf(text: string): object {
  const json = text === "" ? "{}" : text;
  return isJsonObject(json) ? new JsonText(() => json) : { INVALID_JSON: text };
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
