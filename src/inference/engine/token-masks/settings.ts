// Settings of constraints on answers: those of an operator, cost limits, and the cache.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";

const schema = {
  strictFormats: {
    kind: "flag",
    default: defaultGrammarLimits.strictFormats,
    about:
      "Refuses schemas with an unknown `format`. If off, such a format is ignored and named in the header `x-hone-notice`.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  ...defaultGrammarLimits,
  /**
   * Cache of compiled constraints per model's engine, in bytes, including those in use: enough for a hundred large
   * ones. Evicts those not in use, the least recently used first.
   */
  cacheBytes: 256 * 1024 ** 2,
};

export const constraintSettings = section(schema, fixed);

export type ConstraintSettings = SettingsIn<typeof constraintSettings>;
