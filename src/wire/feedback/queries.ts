// Asking for feedback and removing it, in the query language that clients of feedback use. Of that language one question is
// understood each: which records are on a reference, and which have these ids; every other one is refused.
import { Type } from "typebox";
import type { FeedbackRecord } from "../../domain/feedback.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import { contentBody, contentSchema } from "./feedback.ts";

const projectId = Type.String({ description: "`<entity>/<project>`." });
const anyQuery = (description: string, example: object) =>
  Type.Object({}, { additionalProperties: true, description, examples: [example] });

const equals = (field: string, value: string): object => ({
  $expr: { $eq: [{ $getField: field }, { $literal: value }] },
});

const querySchema = Type.Object(
  {
    project_id: projectId,
    query: anyQuery(
      "Which records: those whose weave_ref, or vendor_ref, is equal to a text.",
      equals("weave_ref", "weave:///acme/games/call/0192d3a4"),
    ),
    limit: nullable(Type.Integer({ minimum: 1, maximum: 10_000 }), {
      default: 1000,
      description: "Most records of the answer, which has up to 4 MiB of them, but at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), {
      default: 0,
      description: "Records that are passed over.",
    }),
  },
  { title: "FeedbackQueryReq" },
);

const purgeSchema = Type.Object(
  {
    project_id: projectId,
    query: anyQuery(
      "Which records: one whose id is equal to a text, or, with `$or`, up to a hundred of those.",
      equals("id", "0192d3a4-0000-7000-8000-000000000000"),
    ),
  },
  { title: "FeedbackPurgeReq" },
);

export const feedbackQueryForm: BodyForm<typeof querySchema> = {
  schema: querySchema,
  more: ({ query }, findings) => {
    if (!isObject(query) || referenceIn(query) !== null) return;
    const cure = `ask {"$expr": {"$eq": [{"$getField": "weave_ref"}, {"$literal": "<reference>"}]}}`;
    refuseQuery(findings, `Value error, this server finds feedback by its reference alone; ${cure}`);
  },
};

export const feedbackPurgeForm: BodyForm<typeof purgeSchema> = {
  schema: purgeSchema,
  more: ({ query }, findings) => {
    if (!isObject(query) || idsIn(query) !== null) return;
    const cure = `write {"$expr": {"$eq": [{"$getField": "id"}, {"$literal": "<id>"}]}}, or an $or of up to ${purgedMax} of those`;
    refuseQuery(findings, `Value error, feedback is removed by ids alone; ${cure}`);
  },
};

function refuseQuery(findings: Findings, message: string): void {
  report(findings, "value_error", message, "query");
}

/** Records removed by one request. */
const purgedMax = 100;

/** The reference that a query asks for; null where it asks for something else. */
export function referenceIn(query: object): string | null {
  return equalIn(memberAlone(query, "$expr"), ["weave_ref", "vendor_ref"]);
}

/** The ids that a query names; null where it asks for something else. */
export function idsIn(query: object): readonly string[] | null {
  const expression = memberAlone(query, "$expr");
  const alternatives = memberAlone(expression, "$or");
  const parts = Array.isArray(alternatives) ? alternatives : [expression];
  const ids = parts.map((part: unknown) => equalIn(part, ["id"]));
  if (ids.length === 0 || ids.length > purgedMax) return null;
  return ids.every((id) => id !== null) ? ids : null;
}

/** The text that one of the fields is to be equal to; null where the expression says something else. */
function equalIn(expression: unknown, fields: readonly string[]): string | null {
  const operands = memberAlone(expression, "$eq");
  if (!Array.isArray(operands) || operands.length !== 2) return null;
  for (const [field, literal] of [operands, operands.toReversed()]) {
    const [name, value] = [memberAlone(field, "$getField"), memberAlone(literal, "$literal")];
    if (typeof name === "string" && fields.includes(name) && typeof value === "string") return value;
  }
  return null;
}

/** What the only member of an object is, where that has this name. */
function memberAlone(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) && Object.keys(value).length === 1
    ? value[name]
    : undefined;
}

export const feedbackQueryAnswerSchema = Type.Object({
  result: Type.Array(Type.Object(contentSchema, { title: "FeedbackRecord" }), {
    description: "The oldest first.",
  }),
  total_count: Type.Integer({ minimum: 0, description: "Of the records that the query is about." }),
});

export const feedbackPurgeAnswerSchema = Type.Object({});

export function feedbackQueryBody({
  items,
  totalCount,
}: {
  readonly items: readonly FeedbackRecord[];
  readonly totalCount: number;
}): object {
  return { result: items.map(contentBody), total_count: totalCount };
}
