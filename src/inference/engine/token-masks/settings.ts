// What constraints on answers go by: what an operator sets, what each may cost, and what is kept of them.
import { section, type SettingsIn, type SettingsSchema } from "../../../base/domain/settings.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";

const schema = {
  strictFormats: {
    kind: "flag",
    default: defaultGrammarLimits.strictFormats,
    about:
      "Refuses schemas with a `format` that is not known, which otherwise asks for nothing and is named in the header `x-hone-notice`.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  ...defaultGrammarLimits,
  /**
   * Constraints that each model's engine keeps, in use or for the next request with the same one, in bytes: what a hundred
   * large ones take. Those not in use make room first, the least recently used before others.
   */
  cacheBytes: 256 * 1024 ** 2,
};

export const constraintSettings = section(schema, fixed);

export type ConstraintSettings = SettingsIn<typeof constraintSettings>;
