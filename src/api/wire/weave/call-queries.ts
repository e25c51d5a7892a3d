// Queries of recorded calls, and their answers.
import { Type, type Static } from "typebox";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { CallFilter, TracedCall } from "../../../base/domain/traces/traced-call.ts";
import { is, isEmpty, type BodyForm } from "../body.ts";
import { contentBody } from "../feedback/feedback.ts";
import { anyObject, open } from "../fields/any-object.ts";
import { nullable, orNull } from "../nullable.ts";
import { elapsedMs } from "./microseconds.ts";
import { projectIdField, userField } from "./objects.ts";

const texts = (description: string) =>
  nullable(Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 1000 }), { description });

const callFilterSchema = Type.Object(
  {
    op_names: texts("Only calls of these ops; a reference that ends in `:*` stands for all versions."),
    call_ids: texts("Only these calls."),
    trace_ids: texts("Only calls of these traces."),
    parent_ids: texts("Only calls made by these calls."),
    trace_roots_only: nullable(Type.Boolean(), { description: "Only calls without a parent." }),
    input_refs: texts("Not supported."),
    output_refs: texts("Not supported."),
    thread_ids: texts("Not supported."),
    turn_ids: texts("Not supported."),
    wb_user_ids: texts("Not supported."),
    wb_run_ids: texts("Not supported."),
  },
  { title: "WeaveCallFilter" },
);

const unservedFilters = [
  "input_refs",
  "output_refs",
  "thread_ids",
  "turn_ids",
  "wb_user_ids",
  "wb_run_ids",
] as const;

const queryFields = {
  project_id: projectIdField,
  filter: nullable(callFilterSchema, { description: "Calls to return; all by default." }),
  query: nullable(anyObject, { description: "Not supported: use `filter`." }),
};

const callsQuerySchema = Type.Object(
  {
    ...queryFields,
    limit: nullable(Type.Integer({ minimum: 0 }), {
      description: "Largest number of calls; all by default.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), { default: 0, description: "Number of calls to skip." }),
    sort_by: nullable(
      Type.Array(
        Type.Object(
          {
            field: Type.Enum(["started_at"], { description: "Start time." }),
            direction: Type.Enum(["asc", "desc"], { description: "Ascending or descending." }),
          },
          { title: "WeaveCallOrder" },
        ),
        { maxItems: 1 },
      ),
      { description: "Sort order; by start time by default." },
    ),
    columns: texts("Fields of each call, besides those that every call has; all by default."),
    include_feedback: nullable(Type.Boolean(), {
      default: false,
      description:
        "True to include the feedback on each call in `summary.weave.feedback`, up to 100 records.",
    }),
    include_costs: nullable(Type.Boolean(), { description: "Not supported." }),
    include_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    include_total_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    expand_columns: texts("Not supported: clients read references with POST /refs/read_batch."),
    return_expanded_column_values: nullable(Type.Boolean(), { description: "No effect." }),
  },
  { title: "WeaveCallsQueryReq" },
);

const callsStatsSchema = Type.Object(
  {
    ...queryFields,
    limit: nullable(Type.Integer({ minimum: 0 }), { description: "Limit of the count." }),
    include_total_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    expand_columns: texts("Not supported."),
  },
  { title: "WeaveCallsStatsReq" },
);

/** Fields of a query that this server does not support. */
const unserved = {
  query: { refusedUnless: isEmpty, cure: "use filter" },
  include_costs: { refusedUnless: is(false) },
  include_storage_size: { refusedUnless: is(false) },
  include_total_storage_size: { refusedUnless: is(false) },
  expand_columns: { refusedUnless: isEmpty, cure: "read references with POST /refs/read_batch" },
};

function unservedFilter({ filter }: Readonly<Record<string, unknown>>) {
  const asked = typeof filter === "object" && filter !== null ? (filter as Record<string, unknown>) : {};
  return unservedFilters.flatMap((name) => {
    const value = asked[name];
    if (value === undefined || value === null || isEmpty(value)) return [];
    const message = `filter.${name} is not supported by this server; leave it out.`;
    return [{ location: ["body", "filter", name], message, type: "unsupported" }];
  });
}

export const callsQueryForm: BodyForm<typeof callsQuerySchema> = {
  schema: callsQuerySchema,
  fields: unserved,
  moreUnserved: unservedFilter,
};
export const callsStatsForm: BodyForm<typeof callsStatsSchema> = {
  schema: callsStatsSchema,
  fields: unserved,
  moreUnserved: unservedFilter,
};
export type CallsQueryBody = Static<typeof callsQuerySchema>;

const callReadSchema = Type.Object(
  {
    project_id: projectIdField,
    id: Type.String({ minLength: 1, maxLength: 256, description: "Id of the call." }),
    include_costs: nullable(Type.Boolean(), { description: "Not supported." }),
    include_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    include_total_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
  },
  { title: "WeaveCallReadReq" },
);
export const callReadForm: BodyForm<typeof callReadSchema> = { schema: callReadSchema, fields: unserved };

const callsDeleteSchema = Type.Object(
  {
    project_id: projectIdField,
    call_ids: Type.Array(Type.String({ maxLength: 256 }), {
      maxItems: 1000,
      description: "Ids of the calls.",
    }),
    wb_user_id: userField,
  },
  { title: "WeaveCallsDeleteReq" },
);
export const callsDeleteForm: BodyForm<typeof callsDeleteSchema> = { schema: callsDeleteSchema };
export const callsDeleteAnswerSchema = Type.Object({
  num_deleted: Type.Integer({ description: "Number of calls deleted." }),
});

export const callSchema = Type.Object(
  {
    id: Type.String(),
    project_id: Type.String(),
    op_name: Type.String(),
    display_name: orNull(Type.String()),
    trace_id: Type.String(),
    parent_id: orNull(Type.String()),
    thread_id: orNull(Type.String()),
    turn_id: orNull(Type.String()),
    started_at: Type.String({ format: "date-time" }),
    ended_at: orNull(Type.String({ format: "date-time" })),
    attributes: anyObject,
    inputs: anyObject,
    output: Type.Unknown(),
    exception: orNull(Type.String()),
    summary: Type.Object(
      {},
      { ...open, description: "Summary from the call's end; `weave` contains its status, name and latency." },
    ),
    wb_user_id: Type.String({ description: "Owner of the key that recorded the call." }),
    wb_run_id: orNull(Type.String()),
    wb_run_step: orNull(Type.Integer()),
  },
  { title: "WeaveCall" },
);
export const callReadAnswerSchema = Type.Object({ call: orNull(callSchema) });

export function callFilterOf(filter: CallsQueryBody["filter"]): CallFilter {
  return {
    opNames: filter?.op_names ?? null,
    ids: filter?.call_ids ?? null,
    traceIds: filter?.trace_ids ?? null,
    parentIds: filter?.parent_ids ?? null,
    rootsOnly: filter?.trace_roots_only === true,
  };
}

/** Fields that every returned call has, because clients require them. */
const alwaysShown = new Set([
  "id",
  "project_id",
  "op_name",
  "trace_id",
  "started_at",
  "attributes",
  "inputs",
]);

/**
 * Returns a call as JSON. Its inputs and its output are written exactly as stored.
 *
 * @param feedback feedback on the call; null if not requested
 * @param columns fields to show; null for all
 */
export function callText(
  call: TracedCall,
  feedback: readonly FeedbackRecord[] | null,
  columns: readonly string[] | null,
): string {
  // Safe casts: `calls.ts` wrote both texts.
  const about = JSON.parse(call.about) as Readonly<Record<string, unknown>>;
  const ending = JSON.parse(call.end?.ending ?? "{}") as Readonly<Record<string, unknown>>;
  const members: Readonly<Record<string, string>> = {
    ...texted({
      id: call.id,
      project_id: call.projectId,
      op_name: call.opName,
      display_name: about["display_name"] ?? null,
      trace_id: call.traceId,
      parent_id: call.parentId,
      thread_id: about["thread_id"] ?? null,
      turn_id: about["turn_id"] ?? null,
      started_at: call.startedAt,
      ended_at: call.end?.endedAt ?? null,
      exception: ending["exception"] ?? null,
      wb_user_id: call.createdBy,
      wb_run_id: about["wb_run_id"] ?? null,
      wb_run_step: about["wb_run_step"] ?? null,
    }),
    attributes: call.attributes,
    inputs: call.inputs,
    output: call.end?.output ?? "null",
    summary: summaryText(call, { about, ending }, feedback),
  };
  const shown = columns === null ? null : new Set(columns.map((column) => column.split(".", 1)[0]));
  const fields = Object.entries(members)
    .filter(([name]) => shown === null || shown.has(name) || alwaysShown.has(name))
    .map(([name, text]) => `"${name}":${text}`);
  return `{${fields.join(",")}}`;
}

function texted(members: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]));
}

function summaryText(
  call: TracedCall,
  { about, ending }: Readonly<Record<"about" | "ending", Readonly<Record<string, unknown>>>>,
  feedback: readonly FeedbackRecord[] | null,
): string {
  const isError = (ending["exception"] ?? null) !== null;
  const weave = {
    status: call.end === null ? "running" : isError ? "error" : "success",
    trace_name: about["display_name"] ?? opTitle(call.opName),
    ...(call.end === null ? {} : { latency_ms: elapsedMs(call.startedAt, call.end.endedAt) }),
    ...(feedback === null ? {} : { feedback: feedback.map(contentBody) }),
  };
  const summary = call.end?.summary ?? "{}";
  const own = summary === "{}" ? "{" : `${summary.slice(0, -1)},`;
  return `${own}"weave":${JSON.stringify(weave)}}`;
}

/** Returns the op's name if this is the reference of an op; otherwise the text unchanged. */
function opTitle(opName: string): string {
  return /\/op\/([^:/]+)(?::[^/]*)?$/.exec(opName)?.[1] ?? opName;
}
