// What constraints on answers go by: what an operator sets, what each may cost, and what is kept of them.
import { defaultsOf, type SettingsOf, type SettingsSchema } from "../../../base/domain/settings.ts";
import { defaultGrammarLimits, type GrammarLimits } from "../../../lib/constraints/regex/limits.ts";

export const constraintSettings = {
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

export type ConstraintSettings = GrammarLimits &
  SettingsOf<typeof constraintSettings> &
  Readonly<typeof fixed>;

/** What constraints go by, with what is given in place of the defaults. */
export function constraintSettingsWith(given: Partial<ConstraintSettings> = {}): ConstraintSettings {
  return { ...fixed, ...defaultsOf(constraintSettings), ...given };
}
