// What one query for feedback may ask and take.
import type { QueryLimits } from "../../base/domain/feedback-query/query-limits.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  queryDepth: {
    kind: "integer",
    default: 32,
    min: 2,
    max: 64,
    about: "How deep the operations of a query for feedback may be nested.",
  },
  queryOperands: {
    kind: "integer",
    default: 500,
    min: 10,
    max: 900,
    about: "Operations and operands that a query for feedback may have together.",
  },
  queryLiteralBytes: {
    kind: "integer",
    default: 65_536,
    min: 1024,
    max: 1_048_576,
    about: "Bytes that the literals of a query for feedback may have together, as JSON.",
  },
  querySeconds: {
    kind: "number",
    default: 10,
    min: 0.1,
    max: 600,
    about: "How long a query for feedback may take; one that takes longer is answered 408.",
  },
} as const satisfies SettingsSchema;

export const feedbackSettings = section(schema);

export type FeedbackSettings = SettingsIn<typeof feedbackSettings>;

export function queryLimits(settings: FeedbackSettings): QueryLimits {
  return {
    depthMax: settings.queryDepth,
    operandsMax: settings.queryOperands,
    literalBytesMax: settings.queryLiteralBytes,
    timeMs: settings.querySeconds * 1000,
  };
}
