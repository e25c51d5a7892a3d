// Checks a value against its schema, and reads a body by its form: a schema, what fields of it are refused for, and what the
// schema cannot say. A value is refused with every fault, or returned with its schema's type.
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
import type { WirePlaces } from "./field-paths.ts";

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

/** Which values of a field ask for nothing; null always does. */
export type AsksNothing = (value: unknown) => boolean;

/** What a field is refused for. */
export interface Refusal {
  /** It passes with these values alone. */
  readonly refusedUnless: AsksNothing;
  /** What to do instead, where that is more than to leave it out: a clause. */
  readonly cure?: string;
}

/** By the names of fields; what else is said of them does not matter. */
type Refusals = Readonly<Record<string, Partial<Refusal> & object>>;

export interface BodyForm<Schema extends TObject> {
  readonly schema: Schema;
  /** What fields of it are refused for, where there are such. */
  readonly fields?: Refusals;
  readonly more?: MoreChecks;
  /** What within a field cannot be honoured, whatever the types of the values are. */
  readonly moreUnserved?: (body: Readonly<Record<string, unknown>>) => readonly Fault[];
}

/** A form whose checked body is read as a value of the domain. */
export interface DomainForm<Value> extends BodyForm<TObject> {
  /** @param body that the schema takes */
  to(this: void, body: object): Value;
  /** Where each of the domain's fields stands. */
  readonly places: WirePlaces;
}

export function isDomainForm(form: BodyForm<TObject>): form is DomainForm<unknown> {
  return "to" in form;
}

/**
 * Checks the whole body.
 *
 * @param checkApart adds what is wrong with parts of the body that are not in `value`
 * @throws ServiceError `invalid` with every fault of shape, type, range and combination; when there is none,
 *   `unsupported` with every option that cannot be honoured
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
 * As {@link readForm}, for whoever may find more that cannot be honoured, and throws for all of it together.
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
    // Faults and what is not served are answered together; alone, the latter has a code of its own.
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

/** True of `[]` and `{}`. */
export const isEmpty: AsksNothing = (value) =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;

/** For fields of which any value asks for something. */
export const never: AsksNothing = () => false;
