// API format of usage per key, as pages of rows and as CSV.
import { Type, type Static } from "typebox";
import { usageId, type UsageFilter, type UsageRow } from "../../../base/domain/keys/usage.ts";
import type { Cost } from "../../../base/domain/costs/prices.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { costRows } from "../costs/cost-rows.ts";
import { csvLine } from "../feedback/csv.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

const day = { pattern: "^\\d{4}-\\d{2}-\\d{2}$", examples: ["2026-11-26"] };

const filterFields = {
  from: Type.Optional(Type.String({ ...day, description: "First day to include, as `YYYY-MM-DD` in UTC." })),
  to: Type.Optional(Type.String({ ...day, description: "Last day to include, as `YYYY-MM-DD` in UTC." })),
  key_id: Type.Optional(Type.String({ description: "Only usage of the key with this id." })),
  model: Type.Optional(
    Type.String({
      description: "Only usage of this model: `<entity>/<project>/<name>`, or a base model's name.",
    }),
  ),
  entity: Type.Optional(
    Type.String({ description: "Only usage of this entity's keys; admins may name any entity." }),
  ),
};

export const usageQuerySchema = Type.Object({ ...filterFields, ...pageQueryFields });
export const usageExportQuerySchema = Type.Object(filterFields);

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const usageAnswer = answerOf<UsageRow & Cost>()("Usage", {
  id: [Type.String({ description: "Cursor of the row; pass it as `after` to continue after it." }), usageId],
  day: Type.String({ description: "`YYYY-MM-DD` in UTC." }),
  key_id: [
    orNull(Type.String(), {
      description: "Id of the key; null for usage without a key, such as jobs of an automatic rule.",
    }),
    ({ keyId }) => (keyId === "" ? null : keyId),
  ],
  entity: Type.String({ description: "Entity of the key." }),
  model: Type.String({ description: "`<entity>/<project>/<name>`, or a base model's name." }),
  requests: count(
    "Number of requests that the model began to answer. Each prompt of a text completion counts as one request.",
  ),
  prompt_tokens: count("Number of prompt tokens, including cached tokens."),
  cached_tokens: count("Number of prompt tokens that were read from the prefix cache."),
  completion_tokens: count("Number of answer tokens."),
  training_tokens: count(
    "Number of tokens that successful jobs trained on. A token counts once for each pass over the data.",
  ),
  ...costRows("all these tokens"),
});

/**
 * Returns the filter on usage that a query describes.
 *
 * @param entity entity whose usage is selected, which the route has checked that the caller may see; null for all
 * entities
 * @throws ServiceError `invalid` for an invalid day
 */
export function usageFilter(
  query: Static<typeof usageExportQuerySchema>,
  entity: string | null,
): UsageFilter {
  const { key_id: keyId = null, model = null } = query;
  return { from: dayIn(query, "from"), to: dayIn(query, "to"), keyId, model, entity };
}

function dayIn(query: Static<typeof usageExportQuerySchema>, field: "from" | "to"): string | null {
  const text = query[field];
  if (text === undefined) return null;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  const message = `${field} is ${quoted(text)}; it must be a day such as 2026-11-26`;
  const faults = [{ location: ["query", field], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", faults });
}

/**
 * Writes usage as CSV (RFC 4180), with a column for each field except `id`.
 *
 * @param isPriced false to leave out the columns of costs
 */
export function usageCsv(isPriced: boolean) {
  const left = isPriced ? ["id"] : ["id", "cost", "currency"];
  const columns = Object.keys(usageAnswer.schema.properties).filter((name) => !left.includes(name));
  return {
    header: csvLine(columns),
    line: (row: UsageRow & Cost): string => {
      const values: Readonly<Record<string, string | number | null>> = usageAnswer.body(row);
      return csvLine(columns.map((name) => values[name] ?? null));
    },
  };
}
