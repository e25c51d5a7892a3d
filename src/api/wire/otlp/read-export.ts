// Reads an export of OpenTelemetry traces. Spans become traced calls, and evaluations become feedback on these calls.
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { exactJsonText } from "../../../base/domain/text/exact-json.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { parseJsonBody } from "../../../base/validation/json-body.ts";
import type { CallInput } from "../../../judge/weave/call-service.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";
import { evaluationsOf } from "../../../judge/otlp/evaluations.ts";
import { invalidBody, readProtobuf } from "../../../judge/otlp/read-protobuf.ts";
import { readSpans } from "../../../judge/otlp/read-spans.ts";
import type { Span } from "../../../judge/otlp/span.ts";
import { tracedSpan } from "../../../judge/otlp/traced-span.ts";
import type { BodyLimits } from "../body-limits.ts";
import { projectNameOf } from "./project-name.ts";
import { scoreInput } from "./score-input.ts";

/** How an export was sent, and to which project its spans belong. */
export interface ExportForm {
  readonly encoding: "protobuf" | "json";
  readonly isCompressed: boolean;
  /** Maximum size in bytes of the decompressed body. */
  readonly bytesMax: number;
  /** Entity of projects whose names come from a service. */
  readonly entity: string;
  /** Project of all spans; null if each span's service determines the project. */
  readonly projectId: string | null;
}

export interface ReadExport {
  readonly calls: readonly CallInput[];
  readonly feedback: readonly FeedbackInput[];
  readonly rejectedCount: number;
  /** Reasons why spans were left out, as a sentence; empty if none were. */
  readonly reasons: string;
}

/** Maximum number of evaluations in an export. Each evaluation is stored in a separate transaction. */
const evaluationsMax = 1000;
const decodedValuesMax = 2_000_000;

/**
 * Reads the spans of an export.
 *
 * @throws ServiceError `too_large` if the body or the number of spans exceeds its limit; `invalid` for a malformed body
 */
export function readExport(bytes: Buffer, limits: BodyLimits, form: ExportForm): ReadExport {
  const { spans, rejected } = readSpans(
    decode(form.isCompressed ? inflate(bytes, form) : bytes, limits, form),
  );
  const { feedbackBatchRecords: countMax } = limits;
  if (spans.length > countMax)
    throw tooLarge(`The export has ${spans.length} spans; at most ${countMax} are allowed at a time.`);
  const feedback = spans.flatMap((span) => evaluations(span, form));
  if (feedback.length > evaluationsMax)
    throw tooLarge(
      `The export has ${feedback.length} evaluations; at most ${evaluationsMax} are allowed at a time.`,
    );
  return {
    calls: spans.map((span) => callOf(span, form)),
    feedback,
    rejectedCount: rejected.length,
    reasons: [...new Set(rejected)].join("; "),
  };
}

function decode(bytes: Buffer, limits: BodyLimits, { encoding }: ExportForm): Json | undefined {
  const { depthMax } = limits.json;
  const decodeLimits = { depthMax, valuesMax: decodedValuesMax };
  // Safe cast: parsed from JSON.
  if (encoding === "json") return (parseJsonBody(bytes, decodeLimits) ?? {}) as Json;
  return readProtobuf(bytes, decodeLimits);
}

/** Decompresses a body, but stops at the limit, since a small body can expand to any size. */
function inflate(bytes: Buffer, { bytesMax }: ExportForm): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    if (cause instanceof RangeError)
      throw tooLarge(`The decompressed body is larger than ${bytesMax} bytes, the limit of this route.`);
    throw invalidBody("The body is not compressed with gzip, as its Content-Encoding says.", cause);
  }
}

function tooLarge(message: string): ServiceError {
  const faults = [
    { location: ["body"], message: `${message} Send fewer spans at a time.`, type: "too_large" },
  ];
  return new ServiceError({ code: "too_large", faults });
}

function projectOf({ resource }: Span, { projectId, entity }: ExportForm): string {
  return projectId ?? `${entity}/${projectNameOf(resource["service.name"])}`;
}

function callOf(span: Span, form: ExportForm): CallInput {
  const { inputs, output, summary, attributes, threadId } = tracedSpan(span);
  const { id, traceId, parentId, name: opName, error, resource, scope, events } = span;
  const projectId = projectOf(span, form);
  return {
    start: {
      projectId,
      id,
      traceId,
      parentId,
      opName,
      startedAt: timeOf(span.startNanos),
      about: JSON.stringify({ thread_id: threadId, otel_dump: { resource, scope, events } }),
      attributes: exactJsonText(attributes),
      inputs: exactJsonText(inputs),
    },
    end: {
      projectId,
      id,
      endedAt: timeOf(span.endNanos),
      ending: JSON.stringify({ exception: error }),
      output: exactJsonText(output),
      summary: exactJsonText(summary),
    },
  };
}

/** Converts nanoseconds since 1970 to a UTC time with microseconds. */
function timeOf(nanos: bigint): string {
  const seconds = new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, 19);
  const microseconds = (nanos / 1000n) % 1_000_000n;
  return `${seconds}.${String(microseconds).padStart(6, "0")}Z`;
}

/**
 * Converts a span's evaluations to feedback. Its ids are derived from its content, so that a repeated export adds
 * nothing.
 */
function evaluations(span: Span, form: ExportForm): readonly FeedbackInput[] {
  const projectId = projectOf(span, form);
  return evaluationsOf(span).map(({ name, payload }) => {
    const content = createHash("sha256")
      .update(JSON.stringify([span.traceId, span.id, payload]))
      .digest("hex");
    return scoreInput({
      id: `otel-${content}`,
      projectId,
      target: span.id,
      kind: "gen_ai.evaluation",
      name,
      payload,
    });
  });
}
