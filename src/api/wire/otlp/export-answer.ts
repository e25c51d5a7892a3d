// Answers to exports of traces. They have the same encoding as the request.
import { Type } from "typebox";
import { BinaryWriter, WireType } from "../../../lib/protobuf/wire.ts";
import type { ReadExport } from "./read-export.ts";

export const exportAnswerSchema = Type.Object(
  {
    partialSuccess: Type.Optional(
      Type.Object({
        rejectedSpans: Type.String({ description: "Number of spans that were left out." }),
        errorMessage: Type.String({ description: "Reasons for which spans were left out." }),
      }),
    ),
  },
  { title: "OtlpExportAnswer", description: "Absent `partialSuccess`: all spans are stored." },
);

export const exportBodySchema = Type.Object(
  {
    resourceSpans: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description: "Spans, grouped by the resource that recorded them.",
      }),
    ),
  },
  {
    title: "OtlpExport",
    description: "OTLP's ExportTraceServiceRequest, as protobuf or JSON, with or without gzip.",
  },
);

type Rejection = Pick<ReadExport, "rejectedCount" | "reasons">;

export function exportAnswer({ rejectedCount, reasons }: Rejection): object {
  if (rejectedCount === 0) return {};
  return { partialSuccess: { rejectedSpans: String(rejectedCount), errorMessage: reasons } };
}

/** Encodes the answer as an ExportTraceServiceResponse. */
export function exportAnswerBytes({ rejectedCount, reasons }: Rejection): Uint8Array {
  const writer = new BinaryWriter();
  if (rejectedCount === 0) return writer.finish();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(rejectedCount);
  writer.tag(2, WireType.LengthDelimited).string(reasons);
  return writer.join().finish();
}
