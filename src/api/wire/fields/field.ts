// Describes a field of a body as one row: its schema, its documentation, the domain field that it sets, and values that
// are refused. A body's schema, reader and refusals are all derived from its rows, so each field is described in only
// one place.
import { Type, type Static, type TObject, type TSchema } from "typebox";
import type { ChatField, ChatSampling } from "../../../base/domain/chat.ts";
import { samplingFeatures } from "../../../base/domain/sampling.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import type { AsksNothing, Refusal } from "../body.ts";

/**
 * Target of a row's field: a field of the domain's request, or the form of the answer. `read` means that the body's
 * reader handles the field. Null if the server refuses the field or accepts it without effect.
 */
export type Reads = ChatField | "answer form" | "read" | null;

interface FieldRow extends Partial<Refusal> {
  /** Description of the field in one or two sentences. */
  readonly about: string;
  /** Value that applies if the field is absent. */
  readonly default?: Json;
  /** Description of the default, if no value can express it. */
  readonly otherwise?: string;
  /** Description of the range of values, if the schema cannot express it. */
  readonly range?: string;
  /** Example of a value that has an effect. */
  readonly example?: Json;
  /**
   * True if some engines do not support the field. Not needed for sampling parameters, which `samplingFeatures` lists.
   */
  readonly isEngineFeature?: true;
  /** Returns true for values that are accepted together with beam search, which does not sample. */
  readonly allowedWithBeams?: AsksNothing;
  /**
   * False if the Responses API does not have the field under this name. If absent, requests of the Responses API have
   * the field with the same name and meaning.
   */
  readonly inResponses?: false;
}

/** Requires a reader for a sampling parameter if its schema allows a type that the domain does not. */
type Reader<
  As extends Reads,
  Schema extends TSchema,
> = As extends `sampling.${infer Name extends keyof ChatSampling}`
  ? NonNullable<Static<Schema>> extends ChatSampling[Name]
    ? ReadBy<Schema, ChatSampling[Name]>
    : Required<ReadBy<Schema, ChatSampling[Name]>>
  : object;

interface ReadBy<Schema extends TSchema, Value> {
  readonly read?: (value: NonNullable<Static<Schema>>) => Value;
}

/** Row that describes a field of any type. */
export interface Field extends Pick<FieldRow, "allowedWithBeams" | "inResponses">, Partial<Refusal> {
  readonly schema: TSchema;
  readonly reads: Reads;
  /** Converts a value of the field to the domain's form. The value is valid according to the schema and not null. */
  read?(this: void, value: unknown): unknown;
}

export type Fields = Readonly<Record<string, Field>>;

/**
 * Returns the row of a field.
 *
 * @param schema a schema that no other field uses, because the documentation is added to it
 */
export function field<
  const As extends Reads,
  Schema extends TSchema,
  const Row extends FieldRow & Reader<As, Schema>,
>(reads: As, schema: Schema, row: Row): Row & { readonly schema: Schema; readonly reads: As } {
  // Modifies the schema in place, because a copy would lose the hidden marker of an optional field.
  return { ...row, reads, schema: Object.assign(schema, keywordsOf(row, reads)) };
}

/**
 * Returns the keywords that document the schema. `x-default` and `x-range` describe a default or a range that the
 * schema cannot express.
 * - `x-refused` marks fields that are refused if their value would have an effect.
 * - `x-engine-feature` marks fields that some engines do not support.
 */
function keywordsOf(row: FieldRow, reads: Reads): object {
  const keywords = {
    description: row.about,
    default: row.default,
    "x-default": row.otherwise,
    "x-range": row.range,
    examples: row.example === undefined ? undefined : [row.example],
    "x-engine-feature": row.isEngineFeature ?? isSamplingFeature(reads),
    "x-refused": reads === null && row.refusedUnless !== undefined ? true : undefined,
  };
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined));
}

/**
 * Returns true for a sampling parameter that some engines lack; otherwise undefined, so that the keyword is omitted.
 */
function isSamplingFeature(reads: Reads): true | undefined {
  const [group, parameter] = reads?.split(".") ?? [];
  return group === "sampling" && Object.hasOwn(samplingFeatures, parameter) ? true : undefined;
}

type SchemasOf<Rows extends Fields> = { readonly [Name in keyof Rows]: Rows[Name]["schema"] };

/** Returns the schemas of the rows. */
export function schemasOf<Rows extends Fields>(fields: Rows): SchemasOf<Rows> {
  const schemas = Object.entries(fields).map(([name, { schema }]) => [name, schema] as const);
  // Safe cast: the object has exactly the names of the rows.
  return Object.fromEntries(schemas) as SchemasOf<Rows>;
}

/** Returns the schema of a body that has these fields. */
export function schemaOf<Rows extends Fields>(title: string, fields: Rows): TObject<SchemasOf<Rows>> {
  return Type.Object(schemasOf(fields), { title });
}

/** Values that these fields have in a checked body. */
export type ValuesOf<Rows extends Fields> = Static<TObject<SchemasOf<Rows>>>;
