// What an operator may set of constraints on answers: how much each may cost, and what is kept of them.
import type { SettingsOf, SettingsSchema } from "../../domain/settings.ts";
import { defaultGrammarLimits as defaults } from "../../regex/limits.ts";

export const constraintSettings = {
  sourceBytes: {
    kind: "integer",
    default: defaults.sourceBytes,
    min: 1,
    max: 2 ** 30,
    about: "Longest schema, pattern, list of choices or grammar of a request.",
  },
  nesting: {
    kind: "integer",
    default: defaults.nesting,
    min: 1,
    max: 1000,
    about: "How deeply a schema, pattern or grammar may nest.",
  },
  compileSteps: {
    kind: "integer",
    default: defaults.compileSteps,
    min: 1,
    max: 2 ** 30,
    about: "Work to read a constraint, in steps of about 2 microseconds.",
  },
  maskSteps: {
    kind: "integer",
    default: defaults.maskSteps,
    min: 1,
    max: 2 ** 30,
    about:
      "Work to find the tokens that may come next, once for each token, in steps of about 2 microseconds.",
  },
  states: {
    kind: "integer",
    default: defaults.states,
    min: 16,
    max: 2 ** 22,
    about:
      "Distinct expressions, and distinct places in its texts, that a constraint may come to; a place takes up to 2 KiB.",
  },
  alternatives: {
    kind: "integer",
    default: defaults.alternatives,
    min: 1,
    max: 2 ** 20,
    about: "Cases that the combinations of keywords at one place of a schema may come to.",
  },
  cachedMaskBytes: {
    kind: "integer",
    default: defaults.cachedMaskBytes,
    min: 0,
    max: 2 ** 40,
    about: "Masks kept for each constraint, so that they are not computed again.",
  },
  strictFormats: {
    kind: "flag",
    default: defaults.strictFormats,
    about:
      "Refuses schemas with a `format` that is not known, which otherwise asks for nothing and is named in the header `x-hone-notice`.",
  },
  cacheBytes: {
    kind: "integer",
    default: 256 * 1024 * 1024,
    min: 2 ** 20,
    max: 2 ** 45,
    about:
      "Constraints kept by each model's engine, in use or for the next request with the same one; those not in use make room first, the least recently used before others.",
  },
} as const satisfies SettingsSchema;

export type ConstraintSettings = SettingsOf<typeof constraintSettings>;
