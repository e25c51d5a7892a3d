// API format of queries over feedback: the condition, order and fields of a request, and the rows of its answer.
import { Type, type Static } from "typebox";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { always, type Condition } from "../../../base/domain/feedback-query/condition.ts";
import type {
  FeedbackQuery,
  FeedbackResult,
  SortKey,
} from "../../../base/domain/feedback-query/feedback-query.ts";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import { ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { isObject, newFindings, type Findings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import { contentSchema } from "./feedback.ts";
import { fieldNamed } from "./query/record-fields.ts";
import { readExpression, type ReadExpression } from "./query/read-expression.ts";
import { countColumn, rowBody } from "./query/result-rows.ts";

const expressionExample = {
  $expr: {
    $and: [
      { $eq: [{ $getField: "feedback_type" }, { $literal: "vendor.reaction.1" }] },
      { $eq: [{ $getField: "payload.emoji" }, { $literal: "👍" }] },
    ],
  },
};

/**
 * Returns the schema of a query in a body. It accepts any object, because {@link readExpression} checks the operations.
 */
export const expressionSchema = (description: string, example: object = expressionExample) =>
  nullable(Type.Object({}, { additionalProperties: true }), { description, examples: [example] });

export const feedbackQuerySchema = Type.Object(
  {
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    query: expressionSchema(
      'Condition on the records to return, in the form `{"$expr": …}` ([feedback.md](../guides/feedback.md#query)). All records by default.',
    ),
    sort_by: nullable(
      Type.Array(
        Type.Object({
          field: Type.String({ description: "Field to sort by, named as in `fields`." }),
          direction: Type.Enum(["asc", "desc"], { description: "Direction: ascending or descending." }),
        }),
        { maxItems: 16 },
      ),
      {
        description:
          "Sort order of the records. Records without a value in a field come last. In payloads, numbers come before strings. Records with equal values are in the order in which they were stored.",
        examples: [[{ field: "created_at", direction: "desc" }]],
      },
    ),
    fields: nullable(Type.Array(Type.String(), { minItems: 1, maxItems: 100 }), {
      description:
        "Fields to return of each record: names of fields, `payload.<path>`, or `*` for all fields. To get only the number of records, send only `count(*)`. In the answer, the fields have exactly these names. All fields by default.",
      examples: [["id", "payload.note"]],
    }),
    limit: nullable(Type.Integer({ minimum: 0, maximum: 10_000 }), {
      default: 1000,
      description:
        "Maximum number of records. The answer has fewer if they would exceed 4 MiB, but at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
      default: 0,
      description: "Number of records to skip.",
    }),
  },
  { title: "FeedbackQueryReq" },
);

export type QueryBody = Static<typeof feedbackQuerySchema>;

/**
 * Returns the form of a query request.
 *
 * @param limits limits on the request's query
 */
export function feedbackQueryForm(limits: QueryLimits): BodyForm<typeof feedbackQuerySchema> {
  return {
    schema: feedbackQuerySchema,
    more: ({ query }, findings) => void readMember(query, findings, limits),
    moreUnserved: ({ query, sort_by: sortBy, fields }) => [
      ...readMember(query, newFindings("body"), limits).refusals,
      ...unknownSortFields(sortBy),
      ...unknownFields(fields),
    ],
  };
}

/** Reads the query in the body's member `query`. An absent query matches every record. */
export function readMember(query: unknown, findings: Findings, limits: QueryLimits): ReadExpression {
  if (query === undefined || query === null) return { condition: always, refusals: [] };
  findings.path.push("query");
  const read = readExpression(query, findings, limits);
  findings.path.pop();
  return read;
}

/** Returns the condition that a checked query expresses. */
export function conditionOf(query: unknown, limits: QueryLimits): Condition {
  return readMember(query, newFindings("body"), limits).condition;
}

function unknownSortFields(sortBy: unknown): readonly Fault[] {
  return itemsOf(sortBy).flatMap((key, index) =>
    isObject(key) ? unknownField(key["field"], ["body", "sort_by", String(index), "field"]) : [],
  );
}

/** Returns faults for unknown fields, and a fault if the count is requested together with other fields. */
export function unknownFields(fields: unknown): readonly Fault[] {
  const names = itemsOf(fields);
  if (names.length > 1 && names.includes(countColumn)) {
    const message = `${countColumn} cannot be combined with other fields; request it separately, or read total_count.`;
    return [{ location: ["body", "fields"], message, type: "query" }];
  }
  return names.flatMap((name, index) =>
    name === "*" || name === countColumn ? [] : unknownField(name, ["body", "fields", String(index)]),
  );
}

function itemsOf(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : [];
}

function unknownField(name: unknown, location: readonly string[]): readonly Fault[] {
  if (typeof name !== "string") return [];
  try {
    fieldNamed(name);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [{ location, message: error.message, type: "query" }];
  }
}

/** Converts a checked body to the domain's form of a query. */
export function toFeedbackQuery(body: QueryBody, limits: QueryLimits): FeedbackQuery {
  return {
    projectId: body.project_id,
    condition: conditionOf(body.query, limits),
    sortBy: sortKeys(body.sort_by ?? []),
    // A request that asks only for the number of records needs no rows.
    limit: asksForCount(body) ? 0 : (body.limit ?? 1000),
    offset: body.offset ?? 0,
  };
}

/** Converts the sort keys of a request. Without any, the oldest record comes first. */
function sortKeys(sortBy: NonNullable<QueryBody["sort_by"]>): readonly SortKey[] {
  if (sortBy.length === 0) return [{ field: { kind: "createdAt" }, direction: "asc" }];
  return sortBy.map(({ field, direction }) => ({ field: fieldNamed(field), direction }));
}

function asksForCount({ fields }: QueryBody): boolean {
  return fields?.[0] === countColumn;
}

export const feedbackQueryAnswerSchema = Type.Object({
  result: Type.Array(
    Type.Union([
      Type.Object(contentSchema, { title: "FeedbackRecord" }),
      Type.Object(
        {},
        {
          title: "FeedbackRow",
          additionalProperties: true,
          description: "A record with only the requested `fields`.",
        },
      ),
    ]),
    { description: "The records, in the requested order; oldest first by default." },
  ),
  total_count: Type.Integer({
    minimum: 0,
    description: "Number of records that match the query, regardless of `limit` and `offset`.",
  }),
});

/** Converts the result of a query to an answer, whose rows have the requested fields. */
export function feedbackQueryBody(body: QueryBody, { items, totalCount }: FeedbackResult): JsonObject {
  const result = asksForCount(body)
    ? [{ [countColumn]: totalCount }]
    : items.map((record) => feedbackRow(body, record));
  return { result, total_count: totalCount };
}

/** Converts a record to a row of the answer, with the requested fields. */
export function feedbackRow({ fields }: QueryBody, record: FeedbackRecord): JsonObject {
  return rowBody(record, fields ?? null);
}
