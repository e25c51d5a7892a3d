// Settings that limit feedback queries.
import type { QueryLimits } from "../../base/domain/feedback-query/query-limits.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {} as const satisfies SettingsSchema;

const fixed = {
  /** Maximum nesting depth of a query's operations. The dashboard and the clients use at most five levels. */
  queryDepth: 32,
  /** Maximum number of operations and operands in a query. It must be below SQLite's limit of a thousand terms. */
  queryOperands: 500,
  /** Maximum total size of a query's literals as JSON, in bytes. */
  queryLiteralBytes: 65_536,
  /** Time limit of a query in seconds. On timeout, the response status is 408. */
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
