// Fields of a resource that clients can set. One row describes a field: its allowed values, its default, and its
// description. The resource's type, its API and its database columns are derived from these rows.
import type { Json } from "../text/json.ts";

/** Values that a field may have, besides null. */
export type FieldForm =
  | { readonly kind: "text"; readonly lengthMin?: number; readonly lengthMax?: number }
  | { readonly kind: "integer"; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "number"; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "flag" }
  | { readonly kind: "time" }
  /**
   * List of distinct texts. A request may contain up to `countMax` texts, including repetitions; by default, as many as
   * `values` has.
   */
  | { readonly kind: "set"; readonly values: readonly string[]; readonly countMax?: number }
  | { readonly kind: "list"; readonly countMax: number; readonly of: { readonly kind: "text" } }
  /** Value of any JSON type. The field's schema in the API is written by hand. */
  | { readonly kind: "json" };

interface FieldWords {
  /** Description of the field in requests. */
  readonly about: string;
  /** Description in the schema of requests that change the resource; by default the same as `about`. */
  readonly aboutChange?: string;
  /** Description in the schema of responses; by default the same as `about`. */
  readonly aboutShown?: string;
  readonly example?: Json;
  /** For a field without a fixed default: describes what happens if a request omits the field. */
  readonly usually?: string;
}

export interface Field<Value = unknown> extends FieldWords {
  readonly form: FieldForm;
  readonly isNullable: boolean;
  /**
   * Value if a request omits the field. If absent, a nullable field defaults to null, and any other field is required.
   */
  readonly default?: Value;
  /** True if the field's column contains JSON. PostgreSQL can store some characters of a text only in JSON. */
  readonly isStoredAsJson: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

/** Type of the values of a field. */
export type ValueOf<Of> = Of extends Field<infer Value> ? Value : never;

/** A value for each field. */
export type FieldValues<Rows extends Fields> = { readonly [Name in keyof Rows]: ValueOf<Rows[Name]> };

interface Row<Value> extends FieldWords {
  readonly default?: Value;
  readonly isStoredAsJson?: boolean;
}

function field<Value>(form: FieldForm, { isStoredAsJson = false, ...row }: Row<Value>): Field<Value> {
  const isStructure = form.kind === "set" || form.kind === "list" || form.kind === "json";
  return { ...row, form, isNullable: false, isStoredAsJson: isStoredAsJson || isStructure };
}

export function text(
  row: Row<string> & { readonly lengthMin?: number; readonly lengthMax?: number },
): Field<string> {
  const { lengthMin, lengthMax, ...rest } = row;
  return field({ kind: "text", lengthMin, lengthMax }, rest);
}

export function integer(
  row: Row<number> & { readonly minimum?: number; readonly maximum?: number },
): Field<number> {
  const { minimum, maximum, ...rest } = row;
  return field({ kind: "integer", minimum, maximum }, rest);
}

/** Returns a field for any number, like {@link integer} for whole numbers. */
export function number(...[row]: Parameters<typeof integer>): Field<number> {
  const { minimum, maximum, ...rest } = row;
  return field({ kind: "number", minimum, maximum }, rest);
}

export function flag(row: Row<boolean>): Field<boolean> {
  return field({ kind: "flag" }, row);
}

export function time(row: Row<Date>): Field<Date> {
  return field({ kind: "time" }, row);
}

export function setOf<const Value extends string>(
  values: readonly Value[],
  row: Row<readonly Value[]> & { readonly countMax?: number },
): Field<readonly Value[]> {
  const { countMax, ...rest } = row;
  return field({ kind: "set", values, countMax }, rest);
}

export function texts(row: Row<readonly string[]> & { readonly countMax: number }): Field<readonly string[]> {
  const { countMax, ...rest } = row;
  return field({ kind: "list", countMax, of: { kind: "text" } }, rest);
}

/** Returns a field whose API is written by hand. Its column contains JSON. */
export function json<Value>(row: Row<Value>): Field<Value> {
  return field({ kind: "json" }, row);
}

/** Returns a field that may also be null. Null is then its default. */
export function orNull<Value>(of: Field<Value>): Field<Value | null> {
  return { ...of, isNullable: true };
}
