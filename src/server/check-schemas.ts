// What `hone schemas check` does: checks schemas as a server on this machine would, without one.
import { systemClock } from "../domain/clock.ts";
import type { ConstraintCheck } from "../domain/constraint.ts";
import type { Json } from "../domain/trajectory.ts";
import { checkConstraint } from "../grammar/check.ts";
import { defaultGrammarLimits } from "../regex/limits.ts";

/** Checks a schema as `structured_outputs` with nothing but `json` asks for it. */
export function checkSchema(schema: Json, instances: readonly Json[]): ConstraintCheck {
  const constraint = {
    kind: "json-schema",
    schema,
    allowsAnyWhitespace: true,
    whitespacePattern: null,
    allowsAdditionalProperties: true,
  } as const;
  return checkConstraint(constraint, instances, { limits: defaultGrammarLimits, clock: systemClock });
}
