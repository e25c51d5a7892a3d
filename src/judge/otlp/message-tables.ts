// The messages of opentelemetry-proto that carry traces: for each field number, the name of the field in OTLP's JSON
// form and its kind. Fields that Hone does not use are absent.

export type MessageName =
  | "Request"
  | "ResourceSpans"
  | "Resource"
  | "ScopeSpans"
  | "Scope"
  | "Span"
  | "Event"
  | "Status"
  | "KeyValue"
  | "AnyValue"
  | "ArrayValue"
  | "KeyValueList";

export type FieldKind =
  | "text"
  | "hex"
  | "base64"
  | "integer"
  | "nanoseconds"
  | "double"
  | "boolean"
  | "enum"
  | MessageName;

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isList: boolean;
}

const one = (name: string, kind: FieldKind): Field => ({ name, kind, isList: false });
const list = (name: string, kind: FieldKind): Field => ({ name, kind, isList: true });

const attributes = list("attributes", "KeyValue");

export const messages: {
  readonly [Name in MessageName]: { readonly [number: number]: Field | undefined };
} = {
  Request: { 1: list("resourceSpans", "ResourceSpans") },
  ResourceSpans: { 1: one("resource", "Resource"), 2: list("scopeSpans", "ScopeSpans") },
  Resource: { 1: attributes },
  ScopeSpans: { 1: one("scope", "Scope"), 2: list("spans", "Span") },
  Scope: { 1: one("name", "text") },
  Span: {
    1: one("traceId", "hex"),
    2: one("spanId", "hex"),
    4: one("parentSpanId", "hex"),
    5: one("name", "text"),
    7: one("startTimeUnixNano", "nanoseconds"),
    8: one("endTimeUnixNano", "nanoseconds"),
    9: attributes,
    11: list("events", "Event"),
    15: one("status", "Status"),
  },
  Event: { 2: one("name", "text"), 3: attributes },
  Status: { 2: one("message", "text"), 3: one("code", "enum") },
  KeyValue: { 1: one("key", "text"), 2: one("value", "AnyValue") },
  AnyValue: {
    1: one("stringValue", "text"),
    2: one("boolValue", "boolean"),
    3: one("intValue", "integer"),
    4: one("doubleValue", "double"),
    5: one("arrayValue", "ArrayValue"),
    6: one("kvlistValue", "KeyValueList"),
    7: one("bytesValue", "base64"),
  },
  ArrayValue: { 1: list("values", "AnyValue") },
  KeyValueList: { 1: list("values", "KeyValue") },
};
