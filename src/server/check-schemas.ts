// What `hone schemas check` does: checks schemas as a server on this machine would, without one.
import { systemClock } from "../domain/clock.ts";
import type { ConstraintCheck } from "../domain/constraint.ts";
import { checkConstraint } from "../grammar/check.ts";
import { readConfig } from "./config.ts";

/** Checks schemas as `structured_outputs` with nothing but `json` asks for them; both are JSON as texts. */
export type SchemaChecker = (schema: string, instances: readonly string[]) => ConstraintCheck;

/**
 * A checker with the limits that a server started here would have.
 *
 * @throws ServiceError `invalid` for a configuration that such a server would refuse
 */
export function createSchemaChecker(): SchemaChecker {
  const { constraints: limits } = readConfig({});
  return (schema, instances) => {
    const constraint = {
      kind: "json-schema",
      schema,
      allowsAnyWhitespace: true,
      whitespacePattern: null,
      allowsAdditionalProperties: true,
    } as const;
    return checkConstraint(constraint, instances, { limits, clock: systemClock });
  };
}
