// Checks a value against its schema and returns it with the schema's type. Refuses it with every fault otherwise.
import type { Static, TObject, TSchema } from "typebox";
import { check } from "../../base/validation/check.ts";
import { isObject, newFindings, refuseFaults, type Findings } from "../../base/validation/findings.ts";

/** The schema of a body or a query. */
export type ObjectSchema = TObject;

/** The type of a value that is valid under its schema. */
export type ValueOf<Schema extends TSchema> = Static<Schema>;

/** A valid value, and the names of its unknown fields, which were ignored. */
export interface Checked<Value> {
  readonly value: Value;
  readonly ignored: readonly string[];
}

/** Adds the faults that a schema cannot express; gets the object unchecked, so any member may have any type. */
export type MoreChecks = (object: Readonly<Record<string, unknown>>, findings: Findings) => void;

/**
 * Checks a value and returns it with the schema's type.
 *
 * @throws ServiceError `invalid` with every fault of both checks
 */
export function checked<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
  place: "body" | "query",
  more?: MoreChecks,
): Checked<ValueOf<Schema>> {
  const findings = newFindings(place);
  check(schema, value, findings);
  if (isObject(value)) more?.(value, findings);
  refuseFaults(findings);
  // The check found no fault, so the value has the schema's type.
  return { value: value as ValueOf<Schema>, ignored: [...findings.ignored.values()] };
}
