// Reads the spans of an OTLP request in JSON form. A span that is malformed or too large is left out with a reason, so
// that the other spans of the request can still be stored.
import { isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";
import { isStorable } from "../../base/domain/text/storable.ts";
import { attributesOf } from "./attribute-values.ts";
import { invalidBody } from "./read-protobuf.ts";
import type { Span, SpanEvent, SpanExport } from "./span.ts";

/** Maximum number of attributes of a span or an event. OpenInference writes several for each message of a prompt. */
const attributesMax = 10_000;
/** Maximum number of events of a span. OpenTelemetry's libraries keep 128. */
const eventsMax = 1000;
const nameLengthMax = 1024;

/**
 * Reads all spans of a request.
 *
 * @throws ServiceError `invalid` if the body has another form than an OTLP request
 */
export function readSpans(request: Json | undefined): SpanExport {
  const spans: Span[] = [];
  const rejected: string[] = [];
  for (const resourceSpans of members(request, "resourceSpans", "the body")) {
    const resource = attributesOf(
      isJsonObject(resourceSpans["resource"]) ? resourceSpans["resource"]["attributes"] : [],
    );
    for (const scopeSpans of members(resourceSpans, "scopeSpans", "resourceSpans")) {
      const { scope } = scopeSpans;
      const name = isJsonObject(scope) && typeof scope["name"] === "string" ? scope["name"] : "";
      for (const span of members(scopeSpans, "spans", "scopeSpans")) {
        const fault = faultOf(span);
        if (fault === null) spans.push(spanOf(span, resource, name));
        else rejected.push(fault);
      }
    }
  }
  return { spans, rejected };
}

function members(owner: Json | undefined, name: string, where: string): readonly JsonObject[] {
  if (!isJsonObject(owner)) throw invalidBody(`In an OTLP request, ${where} must be an object.`);
  const list = owner[name] ?? [];
  if (!Array.isArray(list) || !list.every((item: Json) => isJsonObject(item)))
    throw invalidBody(`In an OTLP request, ${name} must be a list of objects.`);
  return list;
}

/** Returns the reason why a span cannot be stored; null if it can. */
function faultOf(span: JsonObject): string | null {
  const { name, attributes = [], events = [] } = span;
  if (!isId(span["traceId"], 32)) return "traceId must have 32 hexadecimal digits, not all zero";
  if (!isId(span["spanId"], 16)) return "spanId must have 16 hexadecimal digits, not all zero";
  if ((span["parentSpanId"] ?? "") !== "" && !isId(span["parentSpanId"], 16))
    return "parentSpanId must have 16 hexadecimal digits, not all zero";
  if (typeof name !== "string" || name.length > nameLengthMax || !isStorable(name))
    return `name must be a text of at most ${nameLengthMax} valid characters`;
  if (!isTime(span["startTimeUnixNano"]) || !isTime(span["endTimeUnixNano"]))
    return "startTimeUnixNano and endTimeUnixNano must be nanoseconds since 1970";
  if (!Array.isArray(attributes) || attributes.length > attributesMax)
    return `attributes must be a list of at most ${attributesMax} attributes`;
  if (!Array.isArray(events) || events.length > eventsMax)
    return `events must be a list of at most ${eventsMax} events`;
  return null;
}

function isId(value: Json | undefined, length: number): boolean {
  return (
    typeof value === "string" && value.length === length && /^[0-9a-f]*$/i.test(value) && !/^0*$/.test(value)
  );
}

/** True for nanoseconds that a date can represent. The limit is in the year 2554. */
function isTime(value: Json | undefined): boolean {
  if (typeof value === "number") return value >= 0 && value < 2 ** 64;
  return typeof value === "string" && /^\d{1,19}$/.test(value);
}

function spanOf(span: JsonObject, resource: JsonObject, scope: string): Span {
  const parentId = textIn(span, "parentSpanId").toLowerCase();
  const events = eventsOf(span["events"]);
  return {
    traceId: textIn(span, "traceId").toLowerCase(),
    id: textIn(span, "spanId").toLowerCase(),
    parentId: parentId === "" ? null : parentId,
    name: textIn(span, "name"),
    startNanos: nanosOf(span["startTimeUnixNano"]),
    endNanos: nanosOf(span["endTimeUnixNano"]),
    attributes: attributesOf(span["attributes"]),
    events,
    error: errorOf(span["status"], events),
    resource,
    scope,
  };
}

function textIn(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

function nanosOf(value: Json | undefined): bigint {
  return typeof value === "number"
    ? BigInt(Math.floor(value))
    : BigInt(typeof value === "string" ? value : 0);
}

function eventsOf(events: Json | undefined): readonly SpanEvent[] {
  if (!Array.isArray(events)) return [];
  return events.flatMap((event: Json) => {
    if (!isJsonObject(event) || typeof event["name"] !== "string") return [];
    return [{ name: event["name"], attributes: attributesOf(event["attributes"]) }];
  });
}

/**
 * Returns the error message of a failed span: from its status, or else from the last exception that it recorded. Null
 * if the span did not fail.
 */
function errorOf(status: Json | undefined, events: readonly SpanEvent[]): string | null {
  const code = isJsonObject(status) ? status["code"] : 0;
  if (code !== 2 && code !== "STATUS_CODE_ERROR") return null;
  const message = isJsonObject(status) ? status["message"] : "";
  if (typeof message === "string" && message !== "") return message;
  const exception = events.findLast(({ name }) => name === "exception")?.attributes["exception.message"];
  return typeof exception === "string" && exception !== "" ? exception : "The span failed without a message.";
}
