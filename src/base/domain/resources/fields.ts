// The fields of a resource that a client chooses, one row each: what values it takes, its default, and what documents say of
// it. The type of the resource, its API and its columns are made of the rows. Knows neither schemas nor SQL.
import type { Json } from "../text/json.ts";

/** The values of a field, apart from null. */
export type FieldForm =
  | { readonly kind: "text"; readonly lengthMin?: number; readonly lengthMax?: number }
  | { readonly kind: "integer"; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "number"; readonly minimum?: number; readonly maximum?: number }
  | { readonly kind: "flag" }
  | { readonly kind: "time" }
  /** A list of distinct texts; a request may have up to `countMax` with repetitions, otherwise one of each. */
  | { readonly kind: "set"; readonly values: readonly string[]; readonly countMax?: number }
  | { readonly kind: "list"; readonly countMax: number; readonly of: { readonly kind: "text" } }
  /** A value with a schema of its own. */
  | { readonly kind: "json" };

interface FieldWords {
  /** What it means, in requests. */
  readonly about: string;
  /** The same where a request changes it, if that differs. */
  readonly aboutChange?: string;
  /** What it means in answers, if they say so. */
  readonly aboutShown?: string;
  readonly example?: Json;
  /** The default in words, of a field that has no value for it. */
  readonly usually?: string;
}

export interface Field<Value = unknown> extends FieldWords {
  readonly form: FieldForm;
  readonly isNullable: boolean;
  /** Value of a field that the request leaves out; without one, the field is required or null. */
  readonly default?: Value;
  /** True if the column holds JSON: a text may have characters that PostgreSQL takes only there. */
  readonly isStoredAsJson: boolean;
}

export type Fields = Readonly<Record<string, Field>>;

/** The type of a field's values. */
export type ValueOf<Of> = Of extends Field<infer Value> ? Value : never;

/** A value of every field. */
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

/** As {@link integer}, for any number. */
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

/** A field whose API is written by hand; its column holds JSON. */
export function json<Value>(row: Row<Value>): Field<Value> {
  return field({ kind: "json" }, row);
}

/** The field with null, which is what a request that leaves it out means. */
export function orNull<Value>(of: Field<Value>): Field<Value | null> {
  return { ...of, isNullable: true };
}
