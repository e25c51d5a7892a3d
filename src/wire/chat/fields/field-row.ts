// What the documents of the API say of one field of a request, beside its type and range, which its schema has.
import type { Json } from "../../../domain/trajectory.ts";

export interface FieldRow {
  /** What it does, in a sentence or two. */
  readonly about: string;
  /** What leaving it out means, where that is a value. */
  readonly default?: Json;
  /** What leaving it out means, where no value says it. */
  readonly otherwise?: string;
  /** What the schema cannot say of the values that are taken. */
  readonly range?: string;
  /** A value that asks for something. */
  readonly example: Json;
  /** An engine may lack it. */
  readonly isEngines?: true;
}

/** A row as keywords of the schema. */
export function rowText({ about, otherwise, range, example, ...row }: FieldRow): object {
  return {
    description: about,
    ...(row.default === undefined ? {} : { default: row.default }),
    ...(otherwise === undefined ? {} : { "x-default": otherwise }),
    ...(range === undefined ? {} : { "x-range": range }),
    examples: [example],
  };
}
