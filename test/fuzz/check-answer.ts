// Rules that every answer to any request must follow.
import { marker } from "./odd-values.ts";
import type { RawAnswer } from "./raw-exchange.ts";

/** Maximum number of characters of a client's own value that an answer may repeat. */
const repeatedLengthMax = 200;

const longMarker = new RegExp(`(?:${marker}){${Math.ceil(repeatedLengthMax / marker.length) + 1},}`);

/** Returns descriptions of an answer's faults; empty if there are none. */
export function faultsOf(answer: RawAnswer, method: string): readonly string[] {
  const { status, headers, body } = answer;
  const faults: string[] = [];
  if (!(status >= 200 && status < 500)) faults.push(`the status is ${status}`);
  if (!/^[\w.:/+=@-]{1,128}$/.test(headers.get("x-request-id") ?? ""))
    faults.push("there is no x-request-id");
  for (const [name, value] of headers)
    if (longMarker.test(value)) faults.push(`the header ${name} repeats a long value`);
  if (status >= 400 && method !== "HEAD") {
    const text = body.toString();
    if (longMarker.test(text)) faults.push("the error repeats a long value");
    faults.push(...errorFaults(status, text));
  }
  return faults;
}

/**
 * Returns descriptions of the faults of an answer that was cut off. There are none if the data was deleted meanwhile.
 *
 * @param statusNow status of the same request when it is sent again; null if the request reads no data
 */
export function brokenOffFaults(statusNow: number | null): readonly string[] {
  return statusNow === 404 ? [] : [`it was broken off, and is now answered with ${statusNow ?? "nothing"}`];
}

function errorFaults(status: number, text: string): readonly string[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [`the error is no JSON: ${text.slice(0, 100)}`];
  }
  const { detail, error } = (parsed ?? {}) as { readonly detail?: unknown; readonly error?: unknown };
  const faults: string[] = [];
  // A valid request may be refused because of a temporary limit, so such a refusal need not list faults.
  const mayBeFaultless = status === 429;
  if (!Array.isArray(detail) || (detail.length === 0 && !mayBeFaultless) || !detail.every(isFault))
    faults.push(`the detail is ${JSON.stringify(detail)?.slice(0, 500)}`);
  if (Array.isArray(detail) && detail.length > 101) faults.push(`the detail has ${detail.length} faults`);
  if (!isErrorHead(error)) faults.push(`the error is ${JSON.stringify(error)?.slice(0, 500)}`);
  return faults;
}

function isFault(item: unknown): boolean {
  const { loc, msg, type, ...rest } = item as Readonly<Record<string, unknown>>;
  return (
    Array.isArray(loc) &&
    ["body", "path", "query", "header"].includes(loc[0]) &&
    loc.every((part) => typeof part === "string" && part.length <= repeatedLengthMax) &&
    isText(msg) &&
    isText(type) &&
    Object.keys(rest).length === 0
  );
}

function isErrorHead(error: unknown): boolean {
  // On the routes of Ollama's API, the error is only a text.
  if (isText(error)) return true;
  const { message, type, param, code, ...rest } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return (
    isText(message) &&
    isText(type) &&
    isText(code) &&
    (param === null || typeof param === "string") &&
    Object.keys(rest).length === 0
  );
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.length > 0;
}
