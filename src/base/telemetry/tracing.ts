// The tracing interface for the rest of the server: open spans, and spans reported once they are over. Absent if
// nothing is traced, so that it costs nothing then. Never contains a prompt, an answer or a secret.

/** By the names of OpenTelemetry's semantic conventions; undefined values are left out. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanStart {
  readonly name: string;
  /** In the clock's monotonic milliseconds, as all times of a span. */
  readonly startMs: number;
  readonly attributes?: SpanAttributes;
}

export interface FinishedSpan extends SpanStart {
  /** At least `startMs`. */
  readonly endMs: number;
  /** Kind of the error that ended it, as `error.type`; absent for none. */
  readonly error?: string | undefined;
}

export interface Span {
  /** Identifier for other systems: a W3C `traceparent`. */
  readonly traceparent: string;
  /** Adds a part that is over. */
  add(part: FinishedSpan): Span;
  /** Begins a part, which must be ended. */
  begin(part: SpanStart): OpenSpan;
}

export interface OpenSpan extends Span {
  end(end: {
    readonly endMs: number;
    readonly name?: string;
    readonly attributes?: SpanAttributes;
    readonly error?: string | undefined;
  }): void;
}

/** Start of a trace on this server. */
export interface TraceStart extends SpanStart {
  /** `server` for a request of a client, `consumer` for deferred work. */
  readonly kind: "server" | "consumer";
  /** W3C headers of the client; malformed ones are ignored. */
  readonly parent?: { readonly traceparent: string; readonly tracestate?: string | undefined };
  /** The `traceparent` of its origin, which belongs to another trace. */
  readonly link?: string | undefined;
}

export interface Tracing {
  begin(trace: TraceStart): OpenSpan;
}

/** One request to a model, for the metrics of OpenTelemetry's conventions for generative AI. Times are in seconds. */
export interface GenAiRequest {
  readonly operation: "chat" | "text_completion";
  readonly model: string;
  /** Absent if it was answered. */
  readonly error?: string | undefined;
  readonly seconds: number;
  readonly firstTokenSeconds: number | null;
  readonly perTokenSeconds: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface GenAiMeter {
  record(request: GenAiRequest): void;
}

/** Null if disabled. */
export interface Telemetry {
  readonly tracing: Tracing | null;
  readonly genAi: GenAiMeter | null;
}

export const noTelemetry: Telemetry = { tracing: null, genAi: null };
