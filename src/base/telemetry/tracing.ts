// What the rest of the server knows of traces: spans that are begun, and spans that are told of once they are over. What has
// no traces gets none of this, so that nothing is done for them. Never holds a prompt, an answer or a secret.

/** By the names of OpenTelemetry's semantic conventions; what is undefined is left out. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export interface SpanStart {
  readonly name: string;
  /** By the clock's monotonic milliseconds, as every time of a span. */
  readonly startMs: number;
  readonly attributes?: SpanAttributes;
}

export interface FinishedSpan extends SpanStart {
  /** At least `startMs`. */
  readonly endMs: number;
  /** What kind of error ended it, as `error.type`; absent for none. */
  readonly error?: string | undefined;
}

export interface Span {
  /** By which others name it: a W3C `traceparent`. */
  readonly traceparent: string;
  /** Adds a part of it that is over. */
  add(part: FinishedSpan): Span;
  /** Begins a part of it, which is to be ended. */
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

/** What a trace begins with here. */
export interface TraceStart extends SpanStart {
  /** `server` for a request of a client, `consumer` for work that was left for later. */
  readonly kind: "server" | "consumer";
  /** W3C headers of whoever asks; what is malformed is as if it was not sent. */
  readonly parent?: { readonly traceparent: string; readonly tracestate?: string | undefined };
  /** The `traceparent` of what made it, in a trace of its own. */
  readonly link?: string | undefined;
}

export interface Tracing {
  begin(trace: TraceStart): OpenSpan;
}

/** One request to a model, for the metrics of OpenTelemetry's conventions for generative AI. Times are in seconds. */
export interface GenAiRequest {
  readonly operation: "chat" | "text_completion";
  readonly model: string;
  /** Absent where it was answered. */
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

/** Null where nobody wants it. */
export interface Telemetry {
  readonly tracing: Tracing | null;
  readonly genAi: GenAiMeter | null;
}

export const noTelemetry: Telemetry = { tracing: null, genAi: null };
