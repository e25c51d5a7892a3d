// Interface that other modules use to trace their work. A span is opened, or reported after it has ended; it never
// contains a prompt, an answer or a secret. If tracing is off, there is no tracing object, so tracing costs nothing.

/** Attributes of a span, with names from OpenTelemetry's semantic conventions. Undefined values are left out. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanStart {
  readonly name: string;
  /** Start of the span in milliseconds on the monotonic clock, which all times of a span use. */
  readonly startMs: number;
  readonly attributes?: SpanAttributes;
}

export interface FinishedSpan extends SpanStart {
  /** End of the span, at least `startMs`. */
  readonly endMs: number;
  /** Kind of the error that ended the span, which is exported as `error.type`; absent if there was no error. */
  readonly error?: string | undefined;
}

export interface Span {
  /** Identifies the span to other systems, as a W3C `traceparent`. */
  readonly traceparent: string;
  /** Adds a child span that has already ended. */
  add(part: FinishedSpan): Span;
  /** Begins a child span, which the caller must end. */
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

/** Start of the outermost span on this server, for a request or for queued work. */
export interface TraceStart extends SpanStart {
  /** `server` for a request of a client; `consumer` for work that was queued. */
  readonly kind: "server" | "consumer";
  /** W3C headers from the client. Malformed headers are ignored. */
  readonly parent?: { readonly traceparent: string; readonly tracestate?: string | undefined };
  /** `traceparent` of the request that caused this work. That request belongs to another trace. */
  readonly link?: string | undefined;
}

export interface Tracing {
  begin(trace: TraceStart): OpenSpan;
}

/**
 * One request to a model, for the metrics of OpenTelemetry's conventions for generative AI. All times are in seconds.
 */
export interface GenAiRequest {
  readonly operation: "chat" | "text_completion";
  readonly model: string;
  /** Kind of the error that ended the request; absent if it was answered. */
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

/** Tracing and metrics with OpenTelemetry. Each is null if it is off. */
export interface Telemetry {
  readonly tracing: Tracing | null;
  readonly genAi: GenAiMeter | null;
}

export const noTelemetry: Telemetry = { tracing: null, genAi: null };
