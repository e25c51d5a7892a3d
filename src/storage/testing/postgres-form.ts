// PostgreSQL's way with JSON, numbers and texts, from version 16 on.
import { sql } from "kysely";
import { numberPattern, numberTextLengthMax } from "../../domain/feedback-query/values.ts";
import type { SqlForm, SqlNumber, SqlText } from "../sql-form.ts";

/** Of the type `json`, whose texts stay as they were written. */
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
  ordered: (text) => sql`(${text} collate "C")`,
  givenItems: (json) =>
    sql`(select place - 1 as place, item from json_array_elements(cast(convert_from(${json}, 'UTF8') as json)) with ordinality as listed (item, place)) as given`,
  itemText: (index) => sql`(given.item ->> ${sql.lit(index)})`,
  itemNumber: (index) => sql`cast(given.item ->> ${sql.lit(index)} as double precision)`,
  clusteredTable: "",
};

function numberOfText(text: SqlText): SqlNumber {
  const isNumber = sql`length(${text}) <= cast(${numberTextLengthMax} as integer) and ${text} ~ cast(${`^${numberPattern}$`} as text)`;
  const number = sql`cast(${text} as double precision)`;
  // What is too small for a double is an error there, and zero elsewhere.
  return sql`case when not (${isNumber}) then null when pg_input_is_valid(${text}, 'double precision') then ${number} when ${text} like '%e-%' or ${text} like '%E-%' then 0 end`;
}
