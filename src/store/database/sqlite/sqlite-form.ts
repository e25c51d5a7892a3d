// SQL of SQLite for JSON, numbers and texts. SQLite's JSON functions also accept JSON5, and its casts accept any text
// that begins with a number. Texts are therefore checked before they count as numbers.
import { type RawBuilder, sql } from "kysely";
import { assert } from "../../../base/domain/assert.ts";
import { type FeedbackPack, packedFields } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { PathStep } from "../../../base/domain/feedback-query/feedback-field.ts";
import { numberTextLengthMax } from "../../../base/domain/feedback-query/values.ts";
import type { SqlForm, SqlNumber, SqlText } from "../sql-form.ts";

export const sqliteForm: SqlForm = {
  jsonAt: (json, path) => sql`(${json} -> ${pathText(path)})`,
  textOfJson: (json) =>
    sql`case json_type(${json}) when 'text' then ${json} ->> '$' when 'null' then null else ${json} end`,
  numberOfText,
  numberOfJson: (json) =>
    sql`case when ${json} glob '[-0-9]*' then cast(${json} as real) when ${json} glob '"*' then ${numberOfText(sql`${json} ->> '$'`)} end`,
  itemCount: (json) => sql`case json_type(${json}) when 'array' then json_array_length(${json}) end`,
  // Only truncates small numbers: a double with an absolute value above 2^53 is always an integer.
  whole: (number) =>
    sql`case when abs(${number}) < 9e15 then cast(cast(${number} as integer) as real) else ${number} end`,
  position: (text, part) => sql`instr(${text}, ${part})`,
  lower: (text) => sql`lower(${text})`,
  like: (text, pattern) => sql`${text} like ${pattern}`,
  ordered: (text) => text,
  packForm: "rows",
  givenRecords,
  givenNumbers: null,
  clusteredTable: "without rowid",
  lockUnlocked: () => "",
};

function givenRecords(pack: FeedbackPack): RawBuilder<unknown> {
  assert(pack.form === "rows", "batches are packed as SQLite takes them");
  const columns = packedFields.map((field, index) => {
    // Uses `->` for the payload, because `->>` would return the content of a payload that is a string, not its JSON.
    const value = field === "payload" ? sql`value -> ${sql.lit(index)}` : sql`value ->> ${sql.lit(index)}`;
    return sql`${value} as ${sql.ref(field)}`;
  });
  // Materializes the rows. Otherwise, SQLite would serialize and parse each record again for every column.
  return sql`(
    with each as materialized (select key, value from json_each(cast(${pack.json} as text)))
    select key as place, ${sql.join(columns)} from each) as given`;
}

function numberOfText(text: SqlText): SqlNumber {
  const isNumber = sql`length(${text}) <= ${numberTextLengthMax} and ${text} glob '[-0-9]*' and ${text} not glob '*[^-+.0-9eE]*' and json_valid(${text})`;
  const number = sql`cast(${text} as real)`;
  return sql`case when ${isNumber} and abs(${number}) <= ${Number.MAX_VALUE} then ${number} end`;
}

/**
 * Returns a path in SQLite's syntax. Names are quoted and have the escapes of JSON, so quotation marks in a name are
 * escaped.
 */
function pathText(path: readonly PathStep[]): string {
  const steps = path.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    const name = JSON.stringify(step).slice(1, -1).replaceAll('\\"', "\\u0022");
    return `."${name}"`;
  });
  return `$${steps.join("")}`;
}
