// API format of a request to delete feedback. Its query may only list records by their ids.
import { Type } from "typebox";
import { isObject } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";

const purgeSchema = Type.Object(
  {
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    query: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "Ids of the records to remove, as a query: an `$eq` of the field `id` and a literal, or an `$or` of up to 10,000 of these.",
        examples: [
          { $expr: { $eq: [{ $getField: "id" }, { $literal: "0192d3a4-0000-7000-8000-000000000000" }] } },
        ],
      },
    ),
  },
  { title: "FeedbackPurgeReq" },
);

/** Maximum number of records that one request can delete, the same as for a batch of new records. */
const purgedMax = 10_000;

export const feedbackPurgeForm: BodyForm<typeof purgeSchema> = {
  schema: purgeSchema,
  moreUnserved: ({ query }) => {
    if (!isObject(query) || idsIn(query) !== null) return [];
    const cure = `write {"$expr": {"$eq": [{"$getField": "id"}, {"$literal": "<id>"}]}}, or an $or of up to ${purgedMax} of those`;
    const message = `Can only purge feedback by specifying one or more feedback ids; ${cure}.`;
    return [{ location: ["body", "query"], message, type: "query" }];
  },
};

/** Returns the record ids that a query lists; null for any other query. */
export function idsIn(query: object): readonly string[] | null {
  const expression = onlyMember(query, "$expr");
  const alternatives = onlyMember(expression, "$or");
  const parts = Array.isArray(alternatives) ? alternatives : [expression];
  if (parts.length === 0 || parts.length > purgedMax) return null;
  const ids = parts.map(idIn);
  return ids.every((id) => id !== null) ? ids : null;
}

/** Returns the id from an expression that compares the field `id` with it; null for any other expression. */
function idIn(expression: unknown): string | null {
  const operands = onlyMember(expression, "$eq");
  if (!Array.isArray(operands) || operands.length !== 2) return null;
  const [field, literal] = [onlyMember(operands[0], "$getField"), onlyMember(operands[1], "$literal")];
  return field === "id" && typeof literal === "string" ? literal : null;
}

/** Returns the value of the member `name` of an object that has no other members; otherwise undefined. */
function onlyMember(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) && Object.keys(value).length === 1
    ? value[name]
    : undefined;
}

export const feedbackPurgeAnswerSchema = Type.Object({});
