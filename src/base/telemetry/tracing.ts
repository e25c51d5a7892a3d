// The tracing interface for the rest of the server: open spans, and spans reported after they have ended. If tracing
// is disabled the interface is absent, and costs nothing. Spans never contain a prompt, an answer or a secret.

/** Attributes, named by OpenTelemetry's semantic conventions; undefined values are left out. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanStart {
  readonly name: string;
  /** Start in the clock's monotonic milliseconds, like all times of a span. */
  readonly startMs: number;
  readonly attributes?: SpanAttributes;
}

export interface FinishedSpan extends SpanStart {
  /** End; at least `startMs`. */
  readonly endMs: number;
  /** Kind of the error that ended the span, exported as `error.type`; absent if there was none. */
  readonly error?: string | undefined;
}

export interface Span {
  /** Identifies the span to other systems: a W3C `traceparent`. */
  readonly traceparent: string;
  /** Adds a child span that has ended. */
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

/** Start of a trace on this server. */
export interface TraceStart extends SpanStart {
  /** `server` for a request of a client, `consumer` for deferred work. */
  readonly kind: "server" | "consumer";
  /** W3C headers of the client; malformed ones are ignored. */
  readonly parent?: { readonly traceparent: string; readonly tracestate?: string | undefined };
  /** The `traceparent` of the request that caused this work, which belongs to another trace. */
  readonly link?: string | undefined;
}

export interface Tracing {
  begin(trace: TraceStart): OpenSpan;
}

/** One request to a model, for the metrics of OpenTelemetry's conventions for generative AI. Times are in seconds. */
export interface GenAiRequest {
  readonly operation: "chat" | "text_completion";
  readonly model: string;
  /** Kind of the error; absent if the request was answered. */
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
