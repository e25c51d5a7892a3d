// Bodies of requests and answers as rows, one for each field. A row is a schema, or what makes one of a field of the domain;
// its name in the API is the domain's in snake case. The schema of a body, its reading or writing, and the places that
// errors name are made of its rows.
import { Type, type Static, type TObject, type TSchema, type TSchemaOptions } from "typebox";
import type { Field, FieldForm, Fields, ValueOf } from "../../../base/domain/resources/fields.ts";
import { camelCase, type CamelCase, snakeCase, type SnakeCase } from "../../../base/domain/text/names.ts";
import { unreachable } from "../../../base/domain/assert.ts";
import type { BodyForm, DomainForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";

/** A field of a request, and the domain's value of it. */
interface ReadRow<Value> {
  readonly schema: TSchema;
  /** From a value of the schema, which is not null. */
  read(this: void, sent: unknown): Value;
  /** Value where the field is absent or null; undefined where it then has none. */
  readonly absent: Value | undefined;
}

/** A field that a request may have, and nothing reads. */
interface UnreadRow {
  readonly schema: TSchema;
  readonly isUnread: true;
}

type ReadRows = Readonly<Record<string, TSchema | ReadRow<unknown> | UnreadRow>>;

type AskedRows<Rows extends Fields> = {
  readonly [Name in keyof Rows & string as SnakeCase<Name>]: ReadRow<ValueOf<Rows[Name]>>;
};

type RowValue<Row> = Row extends ReadRow<infer Value> ? Value : Row extends TSchema ? SentValue<Row> : never;

/** An optional field's value is null where it is absent. */
type SentValue<Schema extends TSchema> =
  Static<TObject<{ sent: Schema }>> extends { sent: infer Value }
    ? Value
    : NonNullable<Static<Schema>> | null;

/** The domain's values of the rows, by its names. */
export type ReadValues<Rows extends ReadRows> = {
  readonly [Name in keyof Rows & string as Rows[Name] extends UnreadRow ? never : CamelCase<Name>]: RowValue<
    Rows[Name]
  >;
};

/** The same of a request that changes something: those are there that its schema wants. */
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

/** A row that is read by hand. */
export function readBy<Schema extends TSchema, Value>(
  schema: Schema,
  read: (sent: NonNullable<Static<Schema>>) => Value,
  absent?: Value,
): ReadRow<Value> {
  // Only values of the schema are read.
  return { schema, absent, read: (sent) => read(sent as NonNullable<Static<Schema>>) };
}

/** The rows of a request that makes a resource: a field with a default, and one that may be null, can be left out. */
export function asked<Rows extends Fields>(fields: Rows): AskedRows<Rows> {
  return rowsOf(fields, (field) => {
    const { default: usual, form, isNullable } = field;
    const words = { ...(usual === undefined ? {} : { default: usual }), ...worded(field) };
    const isOptional = isNullable || usual !== undefined;
    return isOptional ? nullable(schemaOf(form), words) : schemaOf(form, words);
  });
}

/**
 * The rows of a request that changes a resource, all of them optional.
 *
 * @param nulls what null means: a value of the fields that may be null, or for all fields that nothing changes
 */
export function changed<Rows extends Fields>(fields: Rows, nulls: "values" | "no change"): AskedRows<Rows> {
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
  // A row for each field.
  return Object.fromEntries(rows) as AskedRows<Rows>;
}

/** @param sent a value of the form's schema */
function domainValue({ kind }: FieldForm, sent: unknown): unknown {
  if (kind === "time") return new Date(String(sent));
  return kind === "set" && Array.isArray(sent) ? [...new Set(sent)] : sent;
}

/** The body of a request that makes something: an absent field has its default, or is null. */
export function creation<Rows extends ReadRows>(
  title: string,
  rows: Rows,
  checks: FormChecks = {},
): DomainForm<ReadValues<Rows>> {
  return formOf(title, rows, checks, ({ absent }) => absent ?? null);
}

/** The body of a request that changes something: an absent field stays as it is. */
export function alteration<Rows extends ReadRows>(
  title: string,
  rows: Rows,
  nulls: "values" | "no change",
): DomainForm<AlteredValues<Rows>> {
  return formOf(title, rows, {}, (_, sent) => (nulls === "values" && sent === null ? null : undefined));
}

/** What the schema of a body cannot say. */
type FormChecks = Pick<BodyForm<TObject>, "more" | "moreUnserved">;

function formOf<Value>(
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
    places: Object.fromEntries(
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
      // Each value was read by its row.
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

/** A value as an answer has it: JSON spells a time as a text. */
type Written<Value> = Value extends Date
  ? string
  : Value extends readonly (infer Item)[]
    ? Written<Item>[]
    : Value extends object
      ? { -readonly [Name in keyof Value]: Written<Value[Name]> }
      : Value;

/** A schema, of the domain's field of its name; or a schema with what makes a value of it. */
type WriteRows<Item> = Readonly<Record<string, TSchema | readonly [TSchema, (item: Item) => unknown]>>;

/** The names of the rows whose values are not such as their schemas say. */
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

/** What answers say of an item. */
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
 * An answer about an item of the domain, by its rows; called as `answerOf<Item>()(title, rows)`, so that the rows can be
 * inferred.
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
    // The schemas of the rows, by their names; a mismatch stops at what uses the answer.
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
  // The rows name fields of the item.
  return (item) => (item as Readonly<Record<string, unknown>>)[field];
}

function written(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

/** The rows of an answer for fields that a client chose. */
export function shown<Rows extends Fields>(
  fields: Rows,
): { readonly [Name in keyof Rows & string as SnakeCase<Name>]: TSchema } {
  const schemas = Object.entries(fields).map(([name, { form, isNullable, aboutShown }]) => {
    const words = aboutShown === undefined ? {} : { description: aboutShown };
    return [snakeCase(name), isNullable ? orNull(plainSchema(form), words) : plainSchema(form, words)];
  });
  // A schema for each field.
  return Object.fromEntries(schemas) as {
    readonly [Name in keyof Rows & string as SnakeCase<Name>]: TSchema;
  };
}

/** The values that a request may have. */
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

/** The values that an answer has: those that a request may have, without their limits. */
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
