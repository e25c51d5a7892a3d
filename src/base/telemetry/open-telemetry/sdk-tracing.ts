// Tracing with OpenTelemetry's library. The parts of a span are created after they have ended, with their recorded
// times, so that tracing costs a running request nothing.
import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span as SdkSpan,
  type Tracer,
} from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from "@opentelemetry/sdk-trace";
import type { Clock } from "../../domain/clock.ts";
import type { OpenSpan, SpanAttributes, SpanStart, Tracing } from "../tracing.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import { readTraceparent, writeTraceparent } from "./trace-context.ts";

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER } as const;

export function samplerOf({ name, ratio }: OpenTelemetrySettings["sampler"]): Sampler {
  const root = name.endsWith("always_on")
    ? new AlwaysOnSampler()
    : name.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}

export function sdkTracing(tracer: Tracer, clock: Clock): Tracing {
  return {
    begin: ({ name, kind, startMs, attributes, parent, link }) => {
      // The whole trace uses one offset between the monotonic and the wall clock. So the times of its parts stay within
      // the time of the whole, even if the wall clock is set meanwhile.
      const offsetMs = clock.now().getTime() - clock.monotonicMs();
      const links = contextOf(link).map((context) => ({ context }));
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind], startTime: hrTime(startMs + offsetMs), attributes: given(attributes), links },
        parentContext(parent),
      );
      return new TracedSpan(tracer, span, offsetMs);
    },
  };
}

class TracedSpan implements OpenSpan {
  readonly #tracer: Tracer;
  readonly #span: SdkSpan;
  readonly #offsetMs: number;

  constructor(tracer: Tracer, span: SdkSpan, offsetMs: number) {
    this.#tracer = tracer;
    this.#span = span;
    this.#offsetMs = offsetMs;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return writeTraceparent({ traceId, spanId, isSampled: (traceFlags & 1) === 1 });
  }

  begin({ name, startMs, attributes }: SpanStart): OpenSpan {
    const span = this.#tracer.startSpan(
      name,
      { startTime: hrTime(startMs + this.#offsetMs), attributes: given(attributes) },
      trace.setSpan(ROOT_CONTEXT, this.#span),
    );
    return new TracedSpan(this.#tracer, span, this.#offsetMs);
  }

  add({ endMs, error, ...start }: Parameters<OpenSpan["add"]>[0]): OpenSpan {
    const part = this.begin(start);
    part.end({ endMs, error });
    return part;
  }

  end({ endMs, name, attributes, error }: Parameters<OpenSpan["end"]>[0]): void {
    if (name !== undefined) this.#span.updateName(name);
    if (attributes !== undefined) this.#span.setAttributes(given(attributes));
    if (error !== undefined) {
      this.#span.setAttribute("error.type", error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(hrTime(endMs + this.#offsetMs));
  }
}

function parentContext(parent: Parameters<Tracing["begin"]>[0]["parent"]): Context {
  const [context] = contextOf(parent?.traceparent);
  if (parent === undefined || context === undefined) return ROOT_CONTEXT;
  const { tracestate } = parent;
  const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, ...traceState });
}

/** Returns a list with the span context that a header contains; empty if the header is missing or malformed. */
function contextOf(traceparent: string | undefined) {
  const read = traceparent === undefined ? null : readTraceparent(traceparent);
  if (read === null) return [];
  const { traceId, spanId, isSampled } = read;
  return [{ traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true }];
}

function given(attributes: SpanAttributes = {}): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, Array.isArray(value) ? [...value] : (value as string | number | boolean)]],
    ),
  );
}

/** Returns a time as seconds and nanoseconds since 1970. The library accepts this form for times of any clock. */
function hrTime(epochMs: number): [seconds: number, nanoseconds: number] {
  const seconds = Math.floor(epochMs / 1000);
  return [seconds, Math.min(999_999_999, Math.round((epochMs - seconds * 1000) * 1e6))];
}
