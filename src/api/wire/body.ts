// Checks a value against its schema, and reads a body by its form: a schema, refusals of certain fields, and checks
// that a schema cannot express. The error for an invalid value names every fault. A valid value is returned with the
// type of its schema.
import type { Static, TObject, TSchema } from "typebox";
import { check } from "../../base/validation/check.ts";
import {
  isObject,
  newFindings,
  refuseFaults,
  type Findings,
  report,
} from "../../base/validation/findings.ts";
import { ServiceError, type Fault } from "../../base/domain/service-error.ts";
import type { FieldPaths } from "./field-paths.ts";

/** Schema of a body or a query. */
export type ObjectSchema = TObject;

/** Type of a value that is valid under its schema. */
export type ValueOf<Schema extends TSchema> = Static<Schema>;

/** A valid value, and the names of its unknown fields, which the server ignores. */
export interface Checked<Value> {
  readonly value: Value;
  readonly ignored: readonly string[];
}

/** Adds faults that a schema cannot detect. The object is unchecked, so any member may have any type. */
export type MoreChecks = (object: Readonly<Record<string, unknown>>, findings: Findings) => void;

/**
 * Checks a value and returns it with the schema's type.
 *
 * @throws ServiceError `invalid` with every fault that the schema or the further check finds
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
  // Safe cast: the check found no fault.
  return { value: value as ValueOf<Schema>, ignored: [...findings.ignored.values()] };
}

/** True for values that only ask for a field's default behaviour. Null always counts as such a value. */
export type AsksNothing = (value: unknown) => boolean;

/** Rule for a field that the server refuses, except with certain values. */
export interface Refusal {
  /** True for the values that the server accepts; it refuses all others. */
  readonly refusedUnless: AsksNothing;
  /**
   * Clause of the error message that says what to send instead; by default, to leave the field out or at its default.
   */
  readonly cure?: string;
}

/**
 * Refusal of each field, keyed by the field's name. A row may have other properties, which this module does not use.
 */
type Refusals = Readonly<Record<string, Partial<Refusal> & object>>;

export interface BodyForm<Schema extends TObject> {
  readonly schema: Schema;
  /** Refusals, keyed by the names of the schema's fields; absent if every field is supported. */
  readonly fields?: Refusals;
  readonly more?: MoreChecks;
  /** Returns faults for unsupported parts of fields. The body is unchecked, so any member may have any type. */
  readonly moreUnserved?: (body: Readonly<Record<string, unknown>>) => readonly Fault[];
}

/** A form for bodies that are converted to a domain value after the check. */
export interface DomainForm<Value> extends BodyForm<TObject> {
  /**
   * Converts a checked body.
   *
   * @param body valid according to the schema
   */
  to(this: void, body: object): Value;
  /** Location in the request of each field of the domain value, for error messages. */
  readonly fieldPaths: FieldPaths;
}

export function isDomainForm(form: BodyForm<TObject>): form is DomainForm<unknown> {
  return "to" in form;
}

/**
 * Checks a body against all rules of its form.
 *
 * @param checkApart adds faults for parts of the body that `value` does not contain
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination; if there are no such faults,
 * `unsupported` with every unsupported option
 */
export function readForm<Schema extends TObject>(
  form: BodyForm<Schema>,
  value: unknown,
  checkApart?: (findings: Findings) => void,
): Checked<Static<Schema>> {
  const { unserved: faults, ...result } = readWithUnserved(form, value, checkApart);
  if (faults.length > 0) throw new ServiceError({ code: "unsupported", faults });
  return result;
}

/**
 * Checks a body like {@link readForm}, but returns the faults of unsupported options instead of throwing them. The
 * caller can thus add further faults and throw all of them together.
 *
 * @throws ServiceError `invalid` like {@link readForm}
 */
export function readWithUnserved<Schema extends TObject>(
  form: BodyForm<Schema>,
  value: unknown,
  checkApart?: (findings: Findings) => void,
): Checked<Static<Schema>> & { readonly unserved: readonly Fault[] } {
  const result = checked(form.schema, value, "body", (body, findings) => {
    form.more?.(body, findings);
    checkApart?.(findings);
    // If the body has other faults, their error also lists the unsupported options. Otherwise the unsupported options
    // are an error with a code of its own.
    if (findings.faultCount > 0) addUnserved(unservedIn(form, body), findings);
  });
  return { ...result, unserved: unservedIn(form, result.value) };
}

function addUnserved(faults: readonly Fault[], findings: Findings): void {
  const wrong = new Set(findings.faults.map(({ location }) => location[1]));
  for (const { location, type, message } of faults) {
    const [, ...place] = location;
    if (!wrong.has(place[0])) report(findings, type, message, ...place);
  }
}

function unservedIn({ fields = {}, moreUnserved }: BodyForm<TObject>, body: object): readonly Fault[] {
  return [...unservedFields(fields, body), ...(moreUnserved?.({ ...body }) ?? [])];
}

function unservedFields(fields: Refusals, body: object): readonly Fault[] {
  return Object.entries(body).flatMap(([field, value]) => {
    const { refusedUnless, cure = "leave it out or at its default" } = Object.hasOwn(fields, field)
      ? fields[field]
      : {};
    if (value === null || refusedUnless === undefined || refusedUnless(value)) return [];
    const message = `${field} is not supported by this server; ${cure}.`;
    return [{ location: ["body", field], message, type: "unsupported" }];
  });
}

export const is =
  (...values: readonly unknown[]): AsksNothing =>
  (value) =>
    values.includes(value);

/** True for an empty list and an empty object. */
export const isEmpty: AsksNothing = (value) =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;

/** Accepts no value. For fields that the server refuses with any value except null. */
export const never: AsksNothing = () => false;
