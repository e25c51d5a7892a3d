// The order that a query asks for, as SQL: what has a value first, numbers before texts, and storage where all is equal.
import { type RawBuilder, sql } from "kysely";
import type { SortKey } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { TextField } from "../../../base/domain/feedback-query/feedback-field.ts";
import type { SqlForm } from "../sql-form.ts";
import { fieldText, numberSql } from "./condition-sql.ts";

/** The texts that every record has. */
const presentTexts: readonly TextField[] = ["id", "projectId", "vendorRef", "vendorUserId", "feedbackType"];

export function orderSql(sortBy: readonly SortKey[], form: SqlForm): RawBuilder<unknown> {
  const terms = sortBy.flatMap((key) => termsOf(key, form));
  return sql.join([...terms, sql`feedback.sequence`]);
}

function termsOf({ field, direction }: SortKey, form: SqlForm): readonly RawBuilder<unknown>[] {
  const way = direction === "asc" ? sql`asc` : sql`desc`;
  const text = fieldText(field, form);
  if (field.kind === "createdAt") return [sql`${text} ${way}`];
  const byText = sql`${form.ordered(text)} ${way}`;
  if (field.kind === "text")
    return presentTexts.includes(field.name) ? [byText] : [sql`(${text} is null)`, byText];
  const number = numberSql(field, form);
  return [sql`(${text} is null)`, sql`(${number} is null)`, sql`${number} ${way}`, byText];
}
