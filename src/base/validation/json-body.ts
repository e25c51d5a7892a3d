// Parses the bytes of a body as JSON: strict UTF-8, a limited depth and number of values, and errors that name a
// position.
import { ServiceError } from "../domain/service-error.ts";
import { withExactNumbers, type ExactJson } from "../domain/text/exact-json.ts";
import type { Json } from "../domain/text/json.ts";
import { jsonFaultIndex } from "./json-fault.ts";

export interface JsonLimits {
  /** Maximum depth to which lists and objects are nested. */
  readonly depthMax: number;
  /** Maximum number of values, counting those in lists and objects. */
  readonly valuesMax: number;
}

/**
 * Parses a body. An empty body becomes `undefined`, which a schema reports as missing.
 *
 * @throws ServiceError `invalid` for a text that is not JSON, is nested too deeply or has too many values
 */
export function parseJsonBody(bytes: Buffer, limits: JsonLimits): unknown {
  if (bytes.length === 0) return undefined;
  refuseBeyond(bytes, limits);
  return parse(textOf(bytes));
}

/**
 * A parsed body, and a copy of it that keeps each number as written. If parsing changes no number, the copy is the
 * parsed body itself.
 */
export interface ExactBody {
  readonly value: unknown;
  readonly exact: ExactJson | undefined;
}

/**
 * Parses a body like {@link parseJsonBody}, and also keeps each number exactly as written: `1.0` does not become `1`.
 * Used if JSON of the body is shown to a model as text.
 */
export function parseExactBody(bytes: Buffer, limits: JsonLimits): ExactBody {
  if (bytes.length === 0) return { value: undefined, exact: undefined };
  refuseBeyond(bytes, limits);
  const text = textOf(bytes);
  const value = parse(text);
  return { value, exact: withExactNumbers(text, value) };
}

/**
 * Throws the error of a body that is not JSON or nested too deeply. Does not parse the body into a value.
 *
 * @throws ServiceError `invalid`, always
 */
export function refuseMalformed(bytes: Buffer, { depthMax }: JsonLimits): never {
  refuseBeyond(bytes, { depthMax, valuesMax: Infinity });
  throw malformedAt(jsonFaultIndex(textOf(bytes)), undefined);
}

/** True if an error says that a body is not JSON, or is nested too deeply. */
export function isMalformed(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.faults.some(({ type }) => type === "json_invalid" || type === "json_too_deep");
}

function parse(text: string): Json {
  try {
    // Safe cast: JSON.parse returns JSON.
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw malformedAt(jsonFaultIndex(text), cause);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw malformed("0", "JSON decode error: the body is not UTF-8", cause);
  }
}

function malformedAt(index: number, cause: unknown): ServiceError {
  return malformed(String(index), `JSON decode error at character ${index}`, cause);
}

function malformed(position: string, message: string, cause: unknown): ServiceError {
  const fault = { location: ["body", position], message, type: "json_invalid" };
  return new ServiceError({ code: "invalid", faults: [fault], cause });
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Refuses a body beyond the limits. It counts brackets and commas outside texts, before other code parses the body or
 * visits it recursively.
 */
function refuseBeyond(bytes: Buffer, { depthMax, valuesMax }: JsonLimits): void {
  let depth = 0;
  let values = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isText) {
      if (byte === backslash) index += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === comma) values += 1;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      values += 1;
      if (depth > depthMax) throw tooDeep(index, depthMax);
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
  if (values > valuesMax) throw tooMany(values, valuesMax);
}

function tooDeep(position: number, depthMax: number): ServiceError {
  const message = `JSON may be nested at most ${depthMax} levels deep; byte ${position} opens level ${depthMax + 1}.`;
  const fault = { location: ["body"], message, type: "json_too_deep" };
  return new ServiceError({ code: "invalid", faults: [fault] });
}

function tooMany(count: number, valuesMax: number): ServiceError {
  const message = `The JSON holds ${count} values; at most ${valuesMax} are allowed. Send less at a time.`;
  const fault = { location: ["body"], message, type: "json_too_long" };
  return new ServiceError({ code: "invalid", faults: [fault] });
}
