// SQL of PostgreSQL for JSON, numbers and texts. Requires version 15 or later.
import { sql, type RawBuilder } from "kysely";
import { types } from "pg";
import { assert } from "../../../base/domain/assert.ts";
import { packedFields } from "../../../base/domain/feedback-query/feedback-batch.ts";
import { numberPattern, numberTextLengthMax } from "../../../base/domain/feedback-query/values.ts";
import type { SqlForm, SqlNumber, SqlText } from "../sql-form.ts";

/** SQL of PostgreSQL. It uses the type `json`, because that type keeps texts as they were written. */
export const postgresForm: SqlForm = {
  jsonAt: (json, path) =>
    path.reduce<SqlText>(
      (value, step) =>
        typeof step === "number"
          ? sql`(${value} -> cast(${step} as integer))`
          : sql`(${value} -> cast(${step} as text))`,
      sql`cast(${json} as json)`,
    ),
  textOfJson: (json) => sql`(${json} #>> '{}')`,
  numberOfText,
  numberOfJson: (json) =>
    sql`case json_typeof(${json}) when 'number' then cast(cast(${json} as text) as double precision) when 'string' then ${numberOfText(sql`(${json} #>> '{}')`)} end`,
  itemCount: (json) => sql`case json_typeof(${json}) when 'array' then json_array_length(${json}) end`,
  whole: (number) => sql`trunc(${number})`,
  position: (text, part) => sql`strpos(${text}, ${part})`,
  lower: (text) => sql`lower(${text} collate "C")`,
  like: (text, pattern) => sql`${text} collate "C" ilike ${pattern}`,
  ordered: (text) => sql`(${text} collate "C")`,
  packForm: "columns",
  givenRecords: (pack) => {
    assert(pack.form === "columns", "batches are packed as PostgreSQL takes them");
    const arrays = pack.columns.map((column) => sql`cast(${textArray(column, pack.count)} as text[])`);
    const names = sql.join(packedFields.map((field) => sql.ref(field)));
    return sql`(select place - 1 as place, ${names} from unnest(${sql.join(arrays)}) with ordinality as listed (${names}, place)) as given`;
  },
  givenNumbers: (lists) => {
    const arrays = Object.values(lists).map((list) => sql`cast(${doubleArray(list)} as double precision[])`);
    return sql`unnest(${sql.join(arrays)}) as given (${sql.join(Object.keys(lists).map((name) => sql.ref(name)))})`;
  },
  clusteredTable: "",
  lockUnlocked: (table) => `for update of ${table} skip locked`,
};

/**
 * Midpoint between the largest double and 2^1024, the next larger power of two. From here on, a number rounds out of
 * the range of doubles.
 */
const tooLarge = (2n ** 1024n - 2n ** 970n).toString();
/**
 * Half of the smallest double (2^-1075), with more digits than the text of a number may have. Smaller numbers round to
 * zero.
 */
const halfOfLeast = `0.${"0".repeat(323)}247032822920623272088284396434110686182529901307`;

/**
 * Returns SQL for the number in a text. Detects numbers outside the range of doubles before the cast, which would fail
 * for them.
 */
function numberOfText(text: SqlText): SqlNumber {
  const isNumber = sql`length(${text}) <= cast(${numberTextLengthMax} as integer) and ${text} ~ cast(${`^${numberPattern}$`} as text)`;
  const exact = sql`abs(cast(${text} as numeric))`;
  return sql`case
    when not (${isNumber}) then null
    when strpos(lower(${text}), 'e') = 0 then cast(${text} as double precision)
    when ${matches(text, "^[-0.]*[eE]")} then 0
    when ${matches(text, "[eE]-0*[1-9][0-9]{3}")} then 0
    when ${matches(text, "[eE][+]?0*[1-9][0-9]{3}")} then null
    when ${exact} >= ${sql.raw(tooLarge)} then null
    when ${exact} <= ${sql.raw(halfOfLeast)} then 0
    else cast(${text} as double precision) end`;
}

function matches(text: SqlText, pattern: string): RawBuilder<boolean> {
  return sql`${text} ~ ${sql.lit(pattern)}`;
}

// Arrays are sent in binary form, so that PostgreSQL need not parse text. The form is that of `array_recv` in
// https://github.com/postgres/postgres/blob/REL_16_STABLE/src/backend/utils/adt/arrayfuncs.c. All integers are
// big-endian.

/**
 * Size in bytes of an array's header: number of dimensions, null flag (0: unspecified) and element type, then length
 * and lower bound of the only dimension.
 */
const headerBytes = 5 * 4;

/** Encodes numbers as a parameter of type `double precision[]`. */
function doubleArray(values: Float64Array): Uint8Array {
  const elementBytes = 4 + 8;
  // Uses a DataView, which writes numbers four times as fast as a Buffer.
  const bytes = new DataView(new ArrayBuffer(headerBytes + values.length * elementBytes));
  writeHeader(bytes, types.builtins.FLOAT8, values.length);
  let at = headerBytes;
  for (const value of values) {
    bytes.setInt32(at, 8);
    bytes.setFloat64(at + 4, value);
    at += elementBytes;
  }
  return new Uint8Array(bytes.buffer);
}

/**
 * Encodes texts as a parameter of type `text[]`.
 *
 * @param column `count` texts in the form of `packed-columns`, which is also PostgreSQL's form of elements: length,
 * then bytes
 */
function textArray(column: Uint8Array, count: number): Uint8Array {
  const bytes = new Uint8Array(headerBytes + column.length);
  writeHeader(new DataView(bytes.buffer), types.builtins.TEXT, count);
  bytes.set(column, headerBytes);
  return bytes;
}

function writeHeader(bytes: DataView, elementType: number, count: number): void {
  for (const [index, value] of [1, 0, elementType, count, 1].entries()) bytes.setInt32(4 * index, value);
}
