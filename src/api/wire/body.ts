// Checks a value against its schema, and reads a body by its form: a schema, refusals of certain fields, and checks
// that a schema cannot express. An invalid value is refused with every fault; a valid one is returned with its
// schema's type.
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

/** A valid value, and the names of its unknown fields, which were ignored. */
export interface Checked<Value> {
  readonly value: Value;
  readonly ignored: readonly string[];
}

/** Adds faults that a schema cannot express. It gets the object unchecked, so any member may have any type. */
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
  // Safe cast: the check found no fault.
  return { value: value as ValueOf<Schema>, ignored: [...findings.ignored.values()] };
}

/** True for values of a field that request nothing; null never does. */
export type AsksNothing = (value: unknown) => boolean;

/** Refusal of a field. */
export interface Refusal {
  /** True for the only values that are accepted. */
  readonly refusedUnless: AsksNothing;
  /** The alternative, if it is more than leaving the field out: a clause. */
  readonly cure?: string;
}

/** Refusals by field name; other properties of a row are ignored. */
type Refusals = Readonly<Record<string, Partial<Refusal> & object>>;

export interface BodyForm<Schema extends TObject> {
  readonly schema: Schema;
  /** Refusals of its fields, if any. */
  readonly fields?: Refusals;
  readonly more?: MoreChecks;
  /** Returns faults for parts of a field that are not supported, regardless of value types. */
  readonly moreUnserved?: (body: Readonly<Record<string, unknown>>) => readonly Fault[];
}

/** A form whose checked body is converted to a domain value. */
export interface DomainForm<Value> extends BodyForm<TObject> {
  /** @param body valid under the schema */
  to(this: void, body: object): Value;
  /** Path of each domain field in the body. */
  readonly fieldPaths: FieldPaths;
}

export function isDomainForm(form: BodyForm<TObject>): form is DomainForm<unknown> {
  return "to" in form;
}

/**
 * Checks the whole body.
 *
 * @param checkApart adds faults of parts of the body that are not in `value`
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination; if there is none,
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
 * Checks like {@link readForm}, for callers that may find more unsupported options and then throw for all together.
 *
 * @throws ServiceError `invalid` as there
 */
export function readWithUnserved<Schema extends TObject>(
  form: BodyForm<Schema>,
  value: unknown,
  checkApart?: (findings: Findings) => void,
): Checked<Static<Schema>> & { readonly unserved: readonly Fault[] } {
  const result = checked(form.schema, value, "body", (body, findings) => {
    form.more?.(body, findings);
    checkApart?.(findings);
    // If there are other faults, unsupported options are reported with them; otherwise they have a separate error
    // code.
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

/** True for `[]` and `{}`. */
export const isEmpty: AsksNothing = (value) =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;

/** For fields of which any value requests something. */
export const never: AsksNothing = () => false;
