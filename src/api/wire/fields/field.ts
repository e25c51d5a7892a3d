// One field of a body as one row: its schema, documentation, target in the domain, and refusals. A body's schema,
// reader and refusals are all derived from its rows; no field is described elsewhere.
import { Type, type Static, type TObject, type TSchema } from "typebox";
import type { ChatField, ChatSampling } from "../../../base/domain/chat.ts";
import { samplingFeatures } from "../../../base/domain/sampling.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import type { AsksNothing, Refusal } from "../body.ts";

/**
 * Target of a field: a field of the domain's request, the form of the answer, or the body's own reader; null if it is
 * accepted without use, or refused.
 */
export type Reads = ChatField | "answer form" | "read" | null;

interface FieldRow extends Partial<Refusal> {
  /** Description in a sentence or two. */
  readonly about: string;
  /** Default value. */
  readonly default?: Json;
  /** Default in words, if no value expresses it. */
  readonly otherwise?: string;
  /** Range that the schema cannot express. */
  readonly range?: string;
  /** A value that has an effect. */
  readonly example?: Json;
  /** True if an engine may lack support; for sampling parameters the domain decides. */
  readonly isEngineFeature?: true;
  /** True for values that are accepted with beam search, which samples nothing. */
  readonly allowedWithBeams?: AsksNothing;
  /**
   * False if a request for a response lacks the field; it shares all other fields of a chat request that mean the
   * same.
   */
  readonly inResponses?: false;
}

/** A sampling parameter whose schema allows other types than the domain's requires a reader. */
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

/** A row of any field. */
export interface Field extends Pick<FieldRow, "allowedWithBeams" | "inResponses">, Partial<Refusal> {
  readonly schema: TSchema;
  readonly reads: Reads;
  /** Converts a value of the schema that is not null. */
  read?(this: void, value: unknown): unknown;
}

export type Fields = Readonly<Record<string, Field>>;

/** @param schema optional; must not be shared, because the documentation is added to it */
export function field<
  const As extends Reads,
  Schema extends TSchema,
  const Row extends FieldRow & Reader<As, Schema>,
>(reads: As, schema: Schema, row: Row): Row & { readonly schema: Schema; readonly reads: As } {
  // A copy would lose the marker that it is optional.
  return { ...row, reads, schema: Object.assign(schema, keywordsOf(row, reads)) };
}

/**
 * Returns the keywords that document the schema. `x-default` and `x-range` hold words that no schema value expresses;
 * `x-refused` marks fields that are refused if they ask for anything, `x-engine-feature` those that an engine may
 * lack.
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

/** True, or undefined to omit the keyword. */
function isSamplingFeature(reads: Reads): true | undefined {
  const [group, parameter] = reads?.split(".") ?? [];
  return group === "sampling" && Object.hasOwn(samplingFeatures, parameter) ? true : undefined;
}

type SchemasOf<Rows extends Fields> = { readonly [Name in keyof Rows]: Rows[Name]["schema"] };

/** Returns only the schemas. */
export function schemasOf<Rows extends Fields>(fields: Rows): SchemasOf<Rows> {
  const schemas = Object.entries(fields).map(([name, { schema }]) => [name, schema] as const);
  // Safe cast: the entries have these names.
  return Object.fromEntries(schemas) as SchemasOf<Rows>;
}

/** Returns the schema of a body with these fields. */
export function schemaOf<Rows extends Fields>(title: string, fields: Rows): TObject<SchemasOf<Rows>> {
  return Type.Object(schemasOf(fields), { title });
}

/** Values of these fields in a checked body. */
export type ValuesOf<Rows extends Fields> = Static<TObject<SchemasOf<Rows>>>;
