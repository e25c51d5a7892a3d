// What one query for feedback may ask and take.
import type { QueryLimits } from "../../base/domain/feedback-query/query-limits.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** How deep the operations of a query may be nested: the page and the clients nest to five. */
  queryDepth: 32,
  /** Operations and operands that a query may have together: SQLite takes a thousand terms. */
  queryOperands: 500,
  /** Bytes that the literals of a query may have together, as JSON. */
  queryLiteralBytes: 65_536,
  /** How long a query may take; one that takes longer is answered 408. */
  querySeconds: 10,
};

export const feedbackSettings = section(schema, fixed);

export type FeedbackSettings = SettingsIn<typeof feedbackSettings>;

export function queryLimits(settings: FeedbackSettings): QueryLimits {
  return {
    depthMax: settings.queryDepth,
    operandsMax: settings.queryOperands,
    literalBytesMax: settings.queryLiteralBytes,
    timeMs: settings.querySeconds * 1000,
  };
}
