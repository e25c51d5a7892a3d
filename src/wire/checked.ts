// Lets a value through with its schema's type, when nothing is wrong with it.
import type { Static, TObject, TSchema } from "typebox";
import { check } from "../validation/check.ts";
import { isObject, newFindings, refuseFaults, type Findings } from "../validation/findings.ts";

/** The schema of a body or a query. */
export type ObjectSchema = TObject;

/** What a value is that differs from its schema in nothing. */
export type ValueOf<Schema extends TSchema> = Static<Schema>;

/** A value that differs from its schema in nothing, and the unknown fields of it that were ignored. */
export interface Checked<Value> {
  readonly value: Value;
  readonly ignored: readonly string[];
}

/** Adds what a schema cannot say of an object; sees it as it came, whatever its members are. */
export type MoreChecks = (object: Readonly<Record<string, unknown>>, findings: Findings) => void;

/**
 * Checks a value and lets it through with the schema's type.
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
  // The walk found nothing that differs from the schema.
  return { value: value as ValueOf<Schema>, ignored: [...findings.ignored] };
}
