// API format of queries for recorded calls, and of the answers to them.
import { Type, type Static } from "typebox";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { type CallFilter, callStatuses, type TracedCall } from "../../../base/domain/traces/traced-call.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { searchLengthMax, searchWordsMax } from "../../../base/domain/text/searched-words.ts";
import { is, isEmpty, type BodyForm } from "../body.ts";
import { contentBody } from "../feedback/feedback.ts";
import { anyObject, open } from "../fields/any-object.ts";
import { nullable, orNull } from "../nullable.ts";
import { elapsedMs, utcMicroseconds } from "./microseconds.ts";
import { projectIdField, userField } from "./objects.ts";

const texts = (description: string) =>
  nullable(Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 1000 }), { description });

const callFilterSchema = Type.Object(
  {
    op_names: texts("Only calls of these ops. A reference that ends in `:*` matches all versions of the op."),
    call_ids: texts("Only calls with these ids."),
    trace_ids: texts("Only calls of the traces with these ids."),
    parent_ids: texts("Only calls whose parent is one of these calls."),
    trace_roots_only: nullable(Type.Boolean(), { description: "True: only calls without a parent." }),
    started_from: nullable(Type.String({ format: "date-time" }), {
      description: "Only calls that started at this time or later. Not a field of Weave's API.",
    }),
    started_before: nullable(Type.String({ format: "date-time" }), {
      description: "Only calls that started before this time. Not a field of Weave's API.",
    }),
    status: nullable(Type.Enum([...callStatuses]), {
      description: "Only calls with this status, as in `summary.weave.status`. Not a field of Weave's API.",
    }),
    text: nullable(Type.String({ maxLength: searchLengthMax }), {
      description:
        "Only calls that contain all these words (at most 10): each in the op's name, the inputs, the output or the error. Words match parts of longer words, and names of JSON members; letters A to Z match in upper and lower case. Not a field of Weave's API.",
    }),
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
  filter: nullable(callFilterSchema, { description: "Conditions on the calls; all calls by default." }),
  query: nullable(anyObject, { description: "Not supported. Use `filter`." }),
};

const includeCosts = nullable(Type.Boolean(), {
  default: false,
  description:
    "True to include the cost of the call's tokens by model in `summary.weave.costs`, for models of this server that have prices.",
});

const callsQuerySchema = Type.Object(
  {
    ...queryFields,
    limit: nullable(Type.Integer({ minimum: 0 }), {
      description: "Maximum number of calls; all by default.",
    }),
    offset: nullable(Type.Integer({ minimum: 0 }), { default: 0, description: "Number of calls to skip." }),
    sort_by: nullable(
      Type.Array(
        Type.Object(
          {
            field: Type.Enum(["started_at"], { description: "Field to sort by: the start time." }),
            direction: Type.Enum(["asc", "desc"], { description: "Direction: ascending or descending." }),
          },
          { title: "WeaveCallOrder" },
        ),
        { maxItems: 1 },
      ),
      { description: "Sort order; by default by start time, ascending." },
    ),
    columns: texts("Fields to return of each call, in addition to the required ones; all by default."),
    include_feedback: nullable(Type.Boolean(), {
      default: false,
      description:
        "True to include the feedback on each call in `summary.weave.feedback`, up to 100 records.",
    }),
    include_costs: includeCosts,
    include_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    include_total_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    expand_columns: texts("Not supported. Read references with POST /refs/read_batch."),
    return_expanded_column_values: nullable(Type.Boolean(), { description: "Accepted, but has no effect." }),
  },
  { title: "WeaveCallsQueryReq" },
);

const callsStatsSchema = Type.Object(
  {
    ...queryFields,
    limit: nullable(Type.Integer({ minimum: 0 }), {
      description: "Maximum count: if there are more calls, the server stops counting at this number.",
    }),
    include_total_storage_size: nullable(Type.Boolean(), { description: "Not supported." }),
    expand_columns: texts("Not supported."),
  },
  { title: "WeaveCallsStatsReq" },
);

/** Fields of a query that this server does not support, so it refuses them. */
const unserved = {
  query: { refusedUnless: isEmpty, cure: "use filter" },
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
    include_costs: includeCosts,
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
    id: Type.String({ description: "Id of the call." }),
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    op_name: Type.String({ description: "Called op: the reference of a published op, or any name." }),
    display_name: orNull(Type.String(), { description: "Name of the call that is shown to users." }),
    trace_id: Type.String({ description: "Id of the trace that the call belongs to." }),
    parent_id: orNull(Type.String(), {
      description: "Id of the parent call; null for the root of a trace.",
    }),
    thread_id: orNull(Type.String(), {
      description: "Id of the thread (conversation) that the call belongs to.",
    }),
    turn_id: orNull(Type.String(), { description: "Id of the turn in the thread." }),
    started_at: Type.String({ format: "date-time" }),
    ended_at: orNull(Type.String({ format: "date-time" }), {
      description: "Time at which the call ended; null while it is running.",
    }),
    attributes: Type.Object({}, { ...open, description: "Attributes that the client attached to the call." }),
    inputs: Type.Object({}, { ...open, description: "Arguments of the call, by name." }),
    output: Type.Unknown({ description: "Result of the call." }),
    exception: orNull(Type.String(), {
      description: "Error message, if the call failed; null otherwise.",
    }),
    summary: Type.Object(
      {},
      {
        ...open,
        description:
          "Summary that the client sent at the call's end. The server adds the member `weave` with the call's status, name and latency.",
      },
    ),
    wb_user_id: Type.String({ description: "Owner of the key that recorded the call." }),
    wb_run_id: orNull(Type.String(), { description: "Id of the W&B run that the call belongs to." }),
    wb_run_step: orNull(Type.Integer(), { description: "Step of the W&B run at the start of the call." }),
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
    startedFrom: timeOf(filter?.started_from),
    startedBefore: timeOf(filter?.started_before),
    status: filter?.status ?? null,
    words: searchedIn(filter?.text ?? ""),
  };
}

function timeOf(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : utcMicroseconds(text);
}

/** @throws ServiceError `invalid` for too many words */
function searchedIn(text: string): readonly string[] {
  const folded = text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const words = [...new Set(folded.split(/\s+/).filter((word) => word !== ""))];
  if (words.length <= searchWordsMax) return words;
  const message = `filter.text has ${words.length} words; at most ${searchWordsMax} are searched`;
  const faults = [{ location: ["body", "filter", "text"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", faults });
}

/** Fields that every returned call has, even if the query asks only for other columns. Clients require them. */
const alwaysShown = new Set([
  "id",
  "project_id",
  "op_name",
  "trace_id",
  "started_at",
  "attributes",
  "inputs",
]);

/** Parts of a call's summary that a request asks for; null for parts that it does not ask for. */
export interface IncludedInSummary {
  readonly feedback: readonly FeedbackRecord[] | null;
  /** Costs by model. */
  readonly costs: Readonly<Record<string, object>> | null;
}

/**
 * Returns a call as JSON, with its stored inputs and output unchanged.
 *
 * @param columns fields to show; null to show all fields
 */
export function callText(
  call: TracedCall,
  included: IncludedInSummary,
  columns: readonly string[] | null,
): string {
  // Safe casts: the module `calls.ts` has written both texts.
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
    summary: summaryText(call, { about, ending }, included),
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
  { feedback, costs }: IncludedInSummary,
): string {
  const isError = (ending["exception"] ?? null) !== null;
  const weave = {
    status: call.end === null ? "running" : isError ? "error" : "success",
    trace_name: about["display_name"] ?? opTitle(call.opName),
    ...(call.end === null ? {} : { latency_ms: elapsedMs(call.startedAt, call.end.endedAt) }),
    ...(feedback === null ? {} : { feedback: feedback.map(contentBody) }),
    ...(costs === null || Object.keys(costs).length === 0 ? {} : { costs }),
  };
  const summary = call.end?.summary ?? "{}";
  const own = summary === "{}" ? "{" : `${summary.slice(0, -1)},`;
  return `${own}"weave":${JSON.stringify(weave)}}`;
}

/** Returns the op's name if the text is a reference to an op, otherwise the text itself. */
function opTitle(opName: string): string {
  return /\/op\/([^:/]+)(?::[^/]*)?$/.exec(opName)?.[1] ?? opName;
}
