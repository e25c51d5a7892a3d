// Spans of OpenTelemetry traces, after decoding.
import type { JsonObject } from "../../base/domain/text/json.ts";

export interface SpanEvent {
  readonly name: string;
  readonly attributes: JsonObject;
}

export interface Span {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits. */
  readonly id: string;
  /** Id of the parent span; null for the root of a trace. */
  readonly parentId: string | null;
  readonly name: string;
  /** Start and end in nanoseconds since 1970. */
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: JsonObject;
  readonly events: readonly SpanEvent[];
  /** Error message; null unless the span failed. */
  readonly error: string | null;
  /** Attributes of the program that made the span. */
  readonly resource: JsonObject;
  /** Name of the instrumentation library. */
  readonly scope: string;
}

/** Decoded spans of a request, and the reason for each span that was left out. */
export interface SpanExport {
  readonly spans: readonly Span[];
  readonly rejected: readonly string[];
}
