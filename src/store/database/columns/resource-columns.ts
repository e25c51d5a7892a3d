// Derives the columns of a resource from its fields: names, types, and conversion of values.
import { assert } from "../../../base/domain/assert.ts";
import type { Field, Fields, FieldValues } from "../../../base/domain/resources/fields.ts";
import { snakeCase, type SnakeCase } from "../../../base/domain/text/names.ts";

type ColumnOf<Value> =
  | (null extends Value ? null : never)
  | (NonNullable<Value> extends number | boolean ? number : string);

/** Type of a table that has a column for each of the fields. */
export type ColumnsOf<Rows extends Fields> = {
  readonly [Name in keyof Rows & string as SnakeCase<Name>]: Rows[Name] extends Field<infer Value>
    ? ColumnOf<Value>
    : never;
};

/** Conversion between the field values of a resource and its column values. */
export interface Columns<Rows extends Fields> {
  readonly names: readonly (keyof ColumnsOf<Rows>)[];
  /** Names of the columns whose values may be long texts. */
  readonly texts: readonly (keyof ColumnsOf<Rows>)[];
  /** Returns the column values for all fields of a resource. */
  write(this: void, values: FieldValues<Rows>): ColumnsOf<Rows>;
  /** Returns the column values for only the given fields. */
  writeSome(this: void, values: Partial<FieldValues<Rows>>): Partial<ColumnsOf<Rows>>;
  read(this: void, row: ColumnsOf<Rows>): FieldValues<Rows>;
}

export function columnsOf<Rows extends Fields>(fields: Rows): Columns<Rows> {
  const columns = Object.entries(fields).map(([name, field]) => ({ name, field, column: snakeCase(name) }));
  const writeSome = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      columns
        .filter(({ name }) => values[name] !== undefined)
        .map(({ name, field, column }) => [column, toColumn(field, values[name])]),
    );
  const read = (row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(columns.map(({ name, field, column }) => [name, fromColumn(field, row[column])]));
  const isText = ({ form, isStoredAsJson }: Field): boolean => isStoredAsJson || form.kind === "text";
  const texts = columns.filter(({ field }) => isText(field)).map(({ column }) => column);
  const names = columns.map(({ column }) => column);
  // Safe cast: each column has the name and the type of one field.
  return { names, texts, write: writeSome, writeSome, read } as unknown as Columns<Rows>;
}

function toColumn({ form, isStoredAsJson }: Field, value: unknown): unknown {
  if (value === null) return null;
  if (isStoredAsJson) return JSON.stringify(value);
  if (form.kind === "flag") return value === true ? 1 : 0;
  return value instanceof Date ? value.toISOString() : value;
}

function fromColumn({ form, isStoredAsJson, isNullable }: Field, held: unknown): unknown {
  if (typeof held === "string") {
    if (isStoredAsJson) return JSON.parse(held);
    return form.kind === "time" ? new Date(held) : held;
  }
  assert(held !== null || isNullable, "a field that is never null has a value");
  return form.kind === "flag" && held !== null ? held === 1 : held;
}
