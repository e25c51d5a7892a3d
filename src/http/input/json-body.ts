// Turns a body's bytes into a JSON value: strict UTF-8, a bounded depth, and an error that says where it went wrong.
import { ServiceError } from "../../domain/service-error.ts";
import { jsonFaultIndex } from "../../validation/json-fault.ts";

/**
 * Parses a body; an empty one is `undefined`, so that a schema can call it missing.
 *
 * @param depthMax how deep arrays and objects may be nested
 * @throws ServiceError `invalid` for what is not JSON or nested too deeply
 */
export function parseJsonBody(bytes: Buffer, depthMax: number): unknown {
  if (bytes.length === 0) return undefined;
  refuseDepth(bytes, depthMax);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw malformed("0", "JSON decode error: the body is not UTF-8", cause);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const index = jsonFaultIndex(text);
    throw malformed(String(index), `JSON decode error at character ${index}`, cause);
  }
}

function malformed(position: string, message: string, cause: unknown): ServiceError {
  const fault = { location: ["body", position], message, type: "json_invalid" };
  return new ServiceError({ code: "invalid", faults: [fault], cause });
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [
  0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d,
];

/** Counts brackets outside strings, before anything recurses over the value. */
function refuseDepth(bytes: Buffer, depthMax: number): void {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isString) {
      if (byte === backslash) index += 1;
      else if (byte === quote) isString = false;
    } else if (byte === quote) isString = true;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > depthMax) throw tooDeep(index, depthMax);
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
}

function tooDeep(position: number, depthMax: number): ServiceError {
  const message = `JSON may be nested at most ${depthMax} levels deep; byte ${position} opens level ${depthMax + 1}.`;
  const fault = { location: ["body"], message, type: "json_too_deep" };
  return new ServiceError({ code: "invalid", faults: [fault] });
}
