// Describes the bodies of requests and answers as rows, one per field. A row has its own schema, or derives the schema
// from a domain field and then has this field's name in snake case. The rows determine a body's schema, its reader or
// writer, and its field paths.
import { Type, type Static, type TObject, type TSchema, type TSchemaOptions } from "typebox";
import type { Field, FieldForm, Fields, ValueOf } from "../../../base/domain/resources/fields.ts";
import { camelCase, type CamelCase, snakeCase, type SnakeCase } from "../../../base/domain/text/names.ts";
import { unreachable } from "../../../base/domain/assert.ts";
import type { BodyForm, DomainForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";

/** Row of a request's field, with the function that converts it to a domain value. */
interface ReadRow<Value> {
  readonly schema: TSchema;
  /** Converts a value that is valid according to the schema and not null. */
  read(this: void, sent: unknown): Value;
  /** Domain value to use if the field is absent or null; undefined if there is no default. */
  readonly absent: Value | undefined;
}

/** Row of a field that requests may contain but that the server ignores. */
interface UnreadRow {
  readonly schema: TSchema;
  readonly isUnread: true;
}

type ReadRows = Readonly<Record<string, TSchema | ReadRow<unknown> | UnreadRow>>;

type AskedRows<Rows extends Fields> = {
  readonly [Name in keyof Rows & string as SnakeCase<Name>]: ReadRow<ValueOf<Rows[Name]>>;
};

type RowValue<Row> = Row extends ReadRow<infer Value> ? Value : Row extends TSchema ? SentValue<Row> : never;

/** Type of a field's value in a checked body. An absent optional field has the value null. */
type SentValue<Schema extends TSchema> =
  Static<TObject<{ sent: Schema }>> extends { sent: infer Value }
    ? Value
    : NonNullable<Static<Schema>> | null;

/** Values that rows read from a body, under the domain's names. */
export type ReadValues<Rows extends ReadRows> = {
  readonly [Name in keyof Rows & string as Rows[Name] extends UnreadRow ? never : CamelCase<Name>]: RowValue<
    Rows[Name]
  >;
};

/** Values in a request that changes an object. Only fields that the request's schema requires are always present. */
type AlteredValues<Rows extends ReadRows> = Partial<ReadValues<Rows>> & {
  readonly [
    Name in keyof Rows & string as Rows[Name] extends ReadRow<unknown> | UnreadRow
      ? never
      : null extends RowValue<Rows[Name]>
        ? never
        : CamelCase<Name>
  ]: RowValue<Rows[Name]>;
};

export function unread(schema: TSchema): UnreadRow {
  return { schema, isUnread: true };
}

/**
 * Returns a row whose field is converted by `read`.
 *
 * @param absent domain value to use if the field is absent or null
 */
export function readBy<Schema extends TSchema, Value>(
  schema: Schema,
  read: (sent: NonNullable<Static<Schema>>) => Value,
  absent?: Value,
): ReadRow<Value> {
  // Safe cast: `read` is only called with values that are valid according to the schema.
  return { schema, absent, read: (sent) => read(sent as NonNullable<Static<Schema>>) };
}

/** Returns the rows of a request that creates an object. Nullable fields and fields with a default are optional. */
export function creationRows<Rows extends Fields>(fields: Rows): AskedRows<Rows> {
  return rowsOf(fields, (field) => {
    const { default: usual, form, isNullable } = field;
    const words = { ...(usual === undefined ? {} : { default: usual }), ...worded(field) };
    const isOptional = isNullable || usual !== undefined;
    return isOptional ? nullable(schemaOf(form), words) : schemaOf(form, words);
  });
}

/**
 * Returns the rows of a request that changes an object. All fields are optional.
 *
 * @param nulls meaning of null: either a value, which only nullable fields allow, or no change, which all fields allow
 */
export function changeRows<Rows extends Fields>(
  fields: Rows,
  nulls: "values" | "no change",
): AskedRows<Rows> {
  if (nulls === "no change")
    return rowsOf(fields, ({ about, aboutChange = about, default: usual, form }) =>
      nullable(schemaOf(form), {
        ...(usual === undefined ? {} : { default: usual }),
        description: aboutChange,
      }),
    );
  return rowsOf(fields, ({ about, aboutChange = about, form, isNullable, ...field }) => {
    const words = worded({ ...field, about: aboutChange });
    return isNullable ? nullable(schemaOf(form), words) : Type.Optional(schemaOf(form, words));
  });
}

function rowsOf<Rows extends Fields>(
  fields: Rows,
  schemaOfField: (field: Field) => TSchema,
): AskedRows<Rows> {
  const rows = Object.entries(fields).map(([name, field]) => [
    snakeCase(name),
    {
      schema: schemaOfField(field),
      absent: field.default ?? (field.isNullable ? null : undefined),
      read: (sent: unknown) => domainValue(field.form, sent),
    },
  ]);
  // Safe cast: the object has one row for each field.
  return Object.fromEntries(rows) as AskedRows<Rows>;
}

/**
 * Returns the domain's value for a field's value in a request.
 *
 * @param sent value that is valid according to the form's schema
 */
function domainValue({ kind }: FieldForm, sent: unknown): unknown {
  if (kind === "time") return new Date(String(sent));
  return kind === "set" && Array.isArray(sent) ? [...new Set(sent)] : sent;
}

/** Returns the form of a request that creates an object. An absent field gets its default, or null if it has none. */
export function creation<Rows extends ReadRows>(
  title: string,
  rows: Rows,
  checks: FormChecks = {},
): DomainForm<ReadValues<Rows>> {
  return schemaFrom(title, rows, checks, ({ absent }) => absent ?? null);
}

/** Returns the form of a request that changes an object. An absent field does not change. */
export function alteration<Rows extends ReadRows>(
  title: string,
  rows: Rows,
  nulls: "values" | "no change",
): DomainForm<AlteredValues<Rows>> {
  return schemaFrom(title, rows, {}, (_, sent) => (nulls === "values" && sent === null ? null : undefined));
}

/** Additional checks of a form that its schema cannot express. */
type FormChecks = Pick<BodyForm<TObject>, "more" | "moreUnserved">;

function schemaFrom<Value>(
  title: string,
  rows: ReadRows,
  checks: FormChecks,
  without: (row: ReadRow<unknown>, sent: null | undefined) => unknown,
): DomainForm<Value> {
  const reading = Object.entries(rows).map(([name, row]) => ({
    name,
    row: isReadRow(row) ? row : asSent(row),
  }));
  return {
    schema: Type.Object(Object.fromEntries(reading.map(({ name, row }) => [name, row.schema])), { title }),
    ...checks,
    fieldPaths: Object.fromEntries(
      reading.flatMap(({ name }) => [camelCase(name), name].map((spelling) => [spelling, ["body", name]])),
    ),
    to: (body) => {
      const sent = new Map<string, unknown>(Object.entries(body));
      const values = reading.flatMap(({ name, row }) => {
        if ("isUnread" in row) return [];
        const given = sent.get(name);
        const value = given === undefined || given === null ? without(row, given) : row.read(given);
        return value === undefined ? [] : [[camelCase(name), value] as const];
      });
      // Safe cast: each value was returned by the reader of its row, which has the row's type.
      return Object.fromEntries(values) as Value;
    },
  };
}

function isReadRow(row: TSchema | ReadRow<unknown> | UnreadRow): row is ReadRow<unknown> | UnreadRow {
  return "read" in row || "isUnread" in row;
}

function asSent(schema: TSchema): ReadRow<unknown> {
  return { schema, absent: undefined, read: (sent) => sent };
}

/** Type of a value in an answer, where times are texts. */
type Written<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Written<Item>[]
    : Value extends object
      ? { -readonly [Name in keyof Value]: Written<Value[Name]> }
      : Value;

/**
 * Rows of an answer. A row is the schema of the domain field with the same name, or a schema with a function that
 * computes the value.
 */
type WriteRows<Item> = Readonly<Record<string, TSchema | readonly [TSchema, (item: Item) => unknown]>>;

/** Names of rows whose domain values do not conform to the row's schema. */
type Mismatched<Item, Rows> = {
  readonly [Name in keyof Rows & string]: ValueIn<Item, Name, Rows[Name]> extends Static<SchemaOf<Rows[Name]>>
    ? never
    : Name;
}[keyof Rows & string];

type ValueIn<Item, Name extends string, Row> = Row extends readonly [unknown, (item: never) => infer Value]
  ? Written<Value>
  : CamelCase<Name> extends keyof Item
    ? Written<Item[CamelCase<Name>]>
    : undefined;

/** Answer about a domain item: its schema, and a function that writes it. */
export interface Answer<Item, Schema extends TSchema = TObject> {
  readonly schema: Schema;
  body(this: void, item: Item): Static<Schema>;
}

type SchemaOf<Row> = Row extends readonly [infer Schema extends TSchema, unknown]
  ? Schema
  : Row extends TSchema
    ? Row
    : never;

type AnswerOf<Item, Rows> = Answer<Item, TObject<{ [Name in keyof Rows]: SchemaOf<Rows[Name]> }>>;

/**
 * Returns a function that derives the answer about a domain item from rows. It is called as `answerOf<Item>()(title,
 * rows)`, so that the compiler can infer the type of the rows.
 */
export function answerOf<Item extends object>() {
  return <Rows extends WriteRows<Item>>(
    title: string | null,
    rows: Rows,
  ): Mismatched<Item, Rows> extends never ? AnswerOf<Item, Rows> : Mismatched<Item, Rows> => {
    const writing = Object.entries(rows).map(([name, row]) =>
      isPair(row) ? { name, schema: row[0], write: row[1] } : { name, schema: row, write: fieldOf(name) },
    );
    const schemas = Object.fromEntries(writing.map(({ name, schema }) => [name, schema]));
    const answer = {
      schema: Type.Object(schemas, title === null ? {} : { title }),
      body: (item: Item) =>
        Object.fromEntries(writing.map(({ name, write }) => [name, written(write(item))])),
    };
    // Safe cast: the declared return type makes the caller's code fail to compile if a row's value does not conform to
    // its schema.
    return answer as never;
  };
}

function isPair<Item>(
  row: TSchema | readonly [TSchema, (item: Item) => unknown],
): row is readonly [TSchema, (item: Item) => unknown] {
  return Array.isArray(row);
}

function fieldOf(name: string): (item: object) => unknown {
  const field = camelCase(name);
  // Safe cast: rows without a function are named after fields of the item.
  return (item) => (item as Readonly<Record<string, unknown>>)[field];
}

function written(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

/** Returns the rows of an answer for fields that clients can set. */
export function shown<Rows extends Fields>(
  fields: Rows,
): { readonly [Name in keyof Rows & string as SnakeCase<Name>]: TSchema } {
  const schemas = Object.entries(fields).map(([name, { form, isNullable, aboutShown }]) => {
    const words = aboutShown === undefined ? {} : { description: aboutShown };
    return [snakeCase(name), isNullable ? orNull(plainSchema(form), words) : plainSchema(form, words)];
  });
  // Safe cast: the object has one schema for each field.
  return Object.fromEntries(schemas) as {
    readonly [Name in keyof Rows & string as SnakeCase<Name>]: TSchema;
  };
}

/** Returns the schema of a field's values in requests. */
function schemaOf(form: FieldForm, words: TSchemaOptions = {}): TSchema {
  switch (form.kind) {
    case "text":
      return Type.String({ ...given({ minLength: form.lengthMin, maxLength: form.lengthMax }), ...words });
    case "integer":
      return Type.Integer({ ...given({ minimum: form.minimum, maximum: form.maximum }), ...words });
    case "number":
      return Type.Number({ ...given({ minimum: form.minimum, maximum: form.maximum }), ...words });
    case "flag":
      return Type.Boolean(words);
    case "time":
      return Type.String({ format: "date-time", ...words });
    case "set":
      return Type.Array(Type.Enum([...form.values]), {
        minItems: 1,
        maxItems: form.countMax ?? form.values.length,
        ...words,
      });
    case "list":
      return Type.Array(Type.String(), { maxItems: form.countMax, ...words });
    case "json":
      return Type.Unknown(words);
    default:
      return unreachable(form);
  }
}

/**
 * Returns the schema of a field's values in answers. It equals the schema for requests, except that it has no limits.
 */
function plainSchema(form: FieldForm, words: TSchemaOptions = {}): TSchema {
  switch (form.kind) {
    case "text":
      return Type.String(words);
    case "integer":
      return Type.Integer(words);
    case "number":
      return Type.Number(words);
    case "set":
      return Type.Array(Type.Enum([...form.values]), words);
    case "list":
      return Type.Array(Type.String(), words);
    case "flag":
    case "time":
    case "json":
      return schemaOf(form, words);
    default:
      return unreachable(form);
  }
}

function worded({ about, example, usually }: Pick<Field, "about" | "example" | "usually">): TSchemaOptions {
  const examples = example === undefined ? undefined : [example];
  return { description: about, ...given({ examples, "x-default": usually }) };
}

function given(options: Readonly<Record<string, unknown>>): TSchemaOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
