// One field of a body as one row: what it takes, what the documents say of it, as what it is read, and what it is refused
// for. The schema of a body, its reading and its refusals are made of its rows; a field is described nowhere else.
import { Type, type Static, type TObject, type TSchema } from "typebox";
import type { ChatField, ChatSampling } from "../../../base/domain/chat.ts";
import { samplingFeatures } from "../../../base/domain/sampling.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import type { AsksNothing, Refusal } from "../body.ts";

/**
 * As what a field is read: a field of the domain's request, how its answer is written, or what the body's own reader knows;
 * null where it is accepted without use, or refused.
 */
export type Reads = ChatField | "answer form" | "read" | null;

interface FieldRow extends Partial<Refusal> {
  /** What it does, in a sentence or two. */
  readonly about: string;
  /** What leaving it out means, where that is a value. */
  readonly default?: Json;
  /** What leaving it out means, where no value says it. */
  readonly otherwise?: string;
  /** What the schema cannot say of the values that are taken. */
  readonly range?: string;
  /** A value that asks for something. */
  readonly example?: Json;
  /** An engine may lack it; of parameters of sampling the domain says which. */
  readonly isEngines?: true;
  /** Beside a beam search, which draws nothing, it is refused unless its value passes. */
  readonly besideBeams?: AsksNothing;
  /** A request for a response has no such field; it has all others of a chat request, where they mean the same. */
  readonly inResponses?: false;
}

/** A parameter of sampling whose schema takes what the domain does not needs a reader. */
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

/** A row, whatever field it is of. */
export interface Field extends Pick<FieldRow, "besideBeams" | "inResponses">, Partial<Refusal> {
  readonly schema: TSchema;
  readonly reads: Reads;
  /** From a value of the schema, which is not null. */
  read?(this: void, value: unknown): unknown;
}

export type Fields = Readonly<Record<string, Field>>;

/** @param schema optional; the row's own, since the documents' words are put into it */
export function field<
  const As extends Reads,
  Schema extends TSchema,
  const Row extends FieldRow & Reader<As, Schema>,
>(reads: As, schema: Schema, row: Row): Row & { readonly schema: Schema; readonly reads: As } {
  // A copy would lose the mark that it is optional.
  return { ...row, reads, schema: Object.assign(schema, keywordsOf(row, reads)) };
}

/**
 * What documents the schema. Words for what is no value of it are its `x-default` and `x-range`; `x-refused` marks what is
 * refused when it asks for anything, `x-engine-feature` what is where an engine lacks it.
 */
function keywordsOf(row: FieldRow, reads: Reads): object {
  const keywords = {
    description: row.about,
    default: row.default,
    "x-default": row.otherwise,
    "x-range": row.range,
    examples: row.example === undefined ? undefined : [row.example],
    "x-engine-feature": row.isEngines ?? isSamplingFeature(reads),
    "x-refused": reads === null && row.refusedUnless !== undefined ? true : undefined,
  };
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined));
}

/** True, or nothing to say. */
function isSamplingFeature(reads: Reads): true | undefined {
  const [group, parameter] = reads?.split(".") ?? [];
  return group === "sampling" && Object.hasOwn(samplingFeatures, parameter) ? true : undefined;
}

type SchemasOf<Rows extends Fields> = { readonly [Name in keyof Rows]: Rows[Name]["schema"] };

/** The schemas alone. */
export function schemasOf<Rows extends Fields>(fields: Rows): SchemasOf<Rows> {
  const schemas = Object.entries(fields).map(([name, { schema }]) => [name, schema] as const);
  // The entries have these names.
  return Object.fromEntries(schemas) as SchemasOf<Rows>;
}

/** The schema of a body of these fields. */
export function schemaOf<Rows extends Fields>(title: string, fields: Rows): TObject<SchemasOf<Rows>> {
  return Type.Object(schemasOf(fields), { title });
}

/** What of a checked body has these fields. */
export type ValuesOf<Rows extends Fields> = Static<TObject<SchemasOf<Rows>>>;
