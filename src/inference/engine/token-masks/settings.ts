// Settings for constraints on answers: those of the operator, cost limits, and the size of the cache.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";

const schema = {
  strictFormats: {
    kind: "flag",
    default: defaultGrammarLimits.strictFormats,
    about:
      "If true, JSON Schemas with an unknown `format` are refused. If false, an unknown `format` has no effect, and the response header `x-hone-notice` names it.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  ...defaultGrammarLimits,
  /**
   * Maximum size in bytes of the compiled constraints of one model's engine, including those in use; enough for a
   * hundred large constraints. Beyond it, unused constraints are evicted, the least recently used first.
   */
  cacheBytes: 256 * 1024 ** 2,
};

export const constraintSettings = section(schema, fixed);

export type ConstraintSettings = SettingsIn<typeof constraintSettings>;
