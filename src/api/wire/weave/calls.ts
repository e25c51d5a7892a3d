// API format of calls as Weave clients record them: starts and ends of calls, complete calls, and batches of starts and
// ends.
import { Type, type Static } from "typebox";
import {
  exactJsonText,
  isExactList,
  isExactObject,
  type ExactJson,
} from "../../../base/domain/text/exact-json.ts";
import { isStorable } from "../../../base/domain/text/storable.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { CallInput } from "../../../judge/weave/call-service.ts";
import { parseExactBody } from "../../../base/validation/json-body.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { readForm, type BodyForm, type Checked } from "../body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { anyObject, open } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";
import { utcMicroseconds } from "./microseconds.ts";
import { projectIdField, userField } from "./objects.ts";

const callId = Type.String({ minLength: 1, maxLength: 256, description: "Id of the call." });
const members = (description: string) => Type.Object({}, { ...open, description });
const time = (description: string) => Type.String({ format: "date-time", description });
const shortText = (description: string) => nullable(Type.String({ maxLength: 1024 }), { description });

const startFields = {
  project_id: projectIdField,
  id: nullable(callId, { description: "Id of the call.", "x-default": "a new one" }),
  op_name: Type.String({
    maxLength: 4096,
    description: "Called op: the reference of a published op, or any name.",
  }),
  display_name: shortText("Name of the call that is shown to users."),
  trace_id: nullable(callId, {
    description: "Id of the trace that the call belongs to.",
    "x-default": "a new one",
  }),
  parent_id: nullable(callId, { description: "Id of the parent call; null for the root of a trace." }),
  thread_id: shortText("Id of the thread (conversation) that the call belongs to."),
  turn_id: shortText("Id of the turn in the thread."),
  started_at: time("Time at which the call started."),
  attributes: members("Attributes that the client attached to the call."),
  inputs: members("Arguments of the call, by name."),
  otel_dump: nullable(anyObject, {
    description: "OpenTelemetry data of the call: stored, but not returned.",
  }),
  wb_user_id: userField,
  wb_run_id: shortText("Id of the W&B run that the call belongs to."),
  wb_run_step: nullable(Type.Integer(), { description: "Step of the W&B run at the start of the call." }),
};
const endFields = {
  ended_at: time("Time at which the call ended."),
  exception: nullable(Type.String(), { description: "Error message, if the call failed; null otherwise." }),
  output: Type.Optional(Type.Unknown({ description: "Result of the call." })),
  summary: nullable(anyObject, { description: "Summary of the call, such as its token usage." }),
  wb_run_step_end: nullable(Type.Integer(), { description: "Step of the W&B run at the end of the call." }),
};
const startSchema = Type.Object(startFields, {
  title: "WeaveCallStart",
  description: "The start of a call.",
});
const endSchema = Type.Object(
  { project_id: projectIdField, id: callId, ...endFields },
  { title: "WeaveCallEnd", description: "The end of a call." },
);
const completeSchema = Type.Object(
  { ...startFields, id: callId, ...endFields },
  { title: "WeaveCallComplete" },
);

const startRequestSchema = Type.Object({ start: startSchema }, { title: "WeaveCallStartReq" });
const endRequestSchema = Type.Object({ end: endSchema }, { title: "WeaveCallEndReq" });
const completeRequestSchema = Type.Object(
  {
    batch: Type.Array(completeSchema, {
      description: "Calls to record. Either all of them are stored, or none.",
    }),
  },
  { title: "WeaveCallsCompleteReq" },
);
const batchRequestSchema = Type.Object(
  {
    batch: Type.Array(
      Type.Object(
        {
          mode: Type.Enum(["start", "end"], {
            description: "Part of the call in this entry: its start or its end.",
          }),
          req: Type.Object(
            { start: Type.Optional(startSchema), end: Type.Optional(endSchema) },
            { title: "WeaveCallPart", description: "The start or the end, as `mode` says." },
          ),
        },
        { title: "WeaveCallBatchItem" },
      ),
      { description: "Starts and ends of calls. Either all of them are stored, or none." },
    ),
  },
  { title: "WeaveCallBatchReq" },
);

export const callStartForm: BodyForm<typeof startRequestSchema> = {
  schema: startRequestSchema,
  more: ({ start }, findings) => checkNames(start, findings, "start"),
};
export const callEndForm: BodyForm<typeof endRequestSchema> = {
  schema: endRequestSchema,
  more: ({ end }, findings) => checkNames(end, findings, "end"),
};
export const callsCompleteForm: BodyForm<typeof completeRequestSchema> = {
  schema: completeRequestSchema,
  more: ({ batch }, findings) => {
    if (!Array.isArray(batch)) return;
    for (const [index, call] of batch.entries()) checkNames(call, findings, "batch", String(index));
  },
};
export const callBatchForm: BodyForm<typeof batchRequestSchema> = {
  schema: batchRequestSchema,
  more: ({ batch }, findings) => {
    if (!Array.isArray(batch)) return;
    for (const [index, item] of batch.entries()) {
      if (!isObject(item) || !isObject(item["req"]) || typeof item["mode"] !== "string") continue;
      const { mode, req } = item;
      if (!Object.hasOwn(req, mode))
        report(findings, "missing", "Field required", "batch", String(index), "req", mode);
      checkNames(req[mode], findings, "batch", String(index), "req", mode);
    }
  },
};

/**
 * Fields by which the database finds and sorts calls. A request is refused if one of them contains a character that the
 * database cannot store.
 */
const names = ["id", "op_name", "trace_id", "parent_id"];

function checkNames(part: unknown, findings: Findings, ...place: readonly string[]): void {
  if (!isObject(part)) return;
  for (const name of names) {
    const value = part[name];
    if (typeof value !== "string" || isStorable(value)) continue;
    report(findings, "value_error", "Value error, it holds a character that is not text", ...place, name);
  }
}

const startedSchema = Type.Object(
  {
    id: Type.String({ description: "Id of the call." }),
    trace_id: Type.String({ description: "Id of the trace that the call belongs to." }),
  },
  { title: "WeaveStartedCall" },
);
export const callStartAnswerSchema = startedSchema;
export const noAnswerSchema = Type.Object({});
export const callBatchAnswerSchema = Type.Object({
  res: Type.Array(Type.Object({ id: Type.Optional(Type.String()), trace_id: Type.Optional(Type.String()) }), {
    description:
      "One entry per part of the batch, in order: the ids of the started call, or an empty object for an end.",
  }),
});

type StartBody = Static<typeof startSchema>;
type EndBody = Static<typeof endSchema>;

/** Calls to record, and the names of ignored fields in the request. */
export type ReadCalls = Checked<readonly CallInput[]>;

/**
 * Reads a request that records the start of a call.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readCallStart(bytes: Buffer, limits: BodyLimits): ReadCalls {
  const { value: body, exact } = parseExactBody(bytes, limits.trajectoryJson);
  const { value, ignored } = readForm(callStartForm, body);
  return { value: [{ start: startOf(value.start, member(exact, "start")), end: null }], ignored };
}

/**
 * Reads a request that records the end of a call.
 *
 * @throws ServiceError `invalid` with every fault
 */
export function readCallEnd(bytes: Buffer, limits: BodyLimits): ReadCalls {
  const { value: body, exact } = parseExactBody(bytes, limits.trajectoryJson);
  const { value, ignored } = readForm(callEndForm, body);
  return { value: [{ start: null, end: endOf(value.end, member(exact, "end")) }], ignored };
}

/**
 * Reads a request that records complete calls.
 *
 * @throws ServiceError `too_large` for too many calls; `invalid` with every fault
 */
export function readCallsComplete(bytes: Buffer, limits: BodyLimits): ReadCalls {
  const { value: body, exact } = parseExactBody(bytes, limits.trajectoryJson);
  refuseTooMany(body, limits);
  const { value, ignored } = readForm(callsCompleteForm, body);
  const calls = value.batch.map((call, index): CallInput => {
    const twin = item(member(exact, "batch"), index);
    return { start: startOf(call, twin), end: endOf(call, twin) };
  });
  return { value: calls, ignored };
}

/**
 * Reads a request that records a batch of starts and ends of calls.
 *
 * @throws ServiceError `too_large` for too many parts; `invalid` with every fault
 */
export function readCallBatch(bytes: Buffer, limits: BodyLimits): ReadCalls {
  const { value: body, exact } = parseExactBody(bytes, limits.trajectoryJson);
  refuseTooMany(body, limits);
  const { value, ignored } = readForm(callBatchForm, body);
  const parts = value.batch.map(({ mode, req }, index): CallInput => {
    const twin = member(member(item(member(exact, "batch"), index), "req"), mode);
    return {
      start: mode === "start" && req.start !== undefined ? startOf(req.start, twin) : null,
      end: mode === "end" && req.end !== undefined ? endOf(req.end, twin) : null,
    };
  });
  return { value: parts, ignored };
}

/**
 * Refuses a batch with too many parts, before any other check. Clients then send it again in halves; after any other
 * error, they may drop it.
 */
function refuseTooMany(body: unknown, { feedbackBatchRecords: countMax }: BodyLimits): void {
  const batch = isObject(body) ? body["batch"] : undefined;
  if (!Array.isArray(batch) || batch.length <= countMax) return;
  const message = `The batch has ${batch.length} calls; at most ${countMax} are allowed at a time. Send halves.`;
  throw new ServiceError({
    code: "too_large",
    faults: [{ location: ["body", "batch"], message, type: "too_long" }],
  });
}

function startOf(body: StartBody, twin: ExactJson | undefined): NonNullable<CallInput["start"]> {
  return {
    projectId: body.project_id,
    id: body.id ?? null,
    traceId: body.trace_id ?? null,
    parentId: body.parent_id ?? null,
    opName: body.op_name,
    startedAt: utcMicroseconds(body.started_at),
    about: JSON.stringify({
      display_name: body.display_name ?? null,
      thread_id: body.thread_id ?? null,
      turn_id: body.turn_id ?? null,
      wb_run_id: body.wb_run_id ?? null,
      wb_run_step: body.wb_run_step ?? null,
      otel_dump: body.otel_dump ?? null,
    }),
    attributes: textOf(member(twin, "attributes")),
    inputs: textOf(member(twin, "inputs")),
  };
}

function endOf(body: EndBody, twin: ExactJson | undefined): NonNullable<CallInput["end"]> {
  return {
    projectId: body.project_id,
    id: body.id,
    endedAt: utcMicroseconds(body.ended_at),
    ending: JSON.stringify({
      exception: body.exception ?? null,
      wb_run_step_end: body.wb_run_step_end ?? null,
    }),
    output: textOf(member(twin, "output")),
    summary: textOf(ownSummary(member(twin, "summary"))),
  };
}

/**
 * Returns the client's summary without the member `weave`. The server adds this member to its answers, and clients send
 * it back with the rest.
 */
function ownSummary(summary: ExactJson | undefined): ExactJson {
  if (summary === undefined || !isExactObject(summary)) return {};
  const { weave: _, ...own } = summary;
  return own;
}

function member(value: ExactJson | undefined, name: string): ExactJson | undefined {
  return value !== undefined && isExactObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function item(value: ExactJson | undefined, index: number): ExactJson | undefined {
  return value !== undefined && isExactList(value) ? value[index] : undefined;
}

function textOf(value: ExactJson | undefined): string {
  return exactJsonText(value ?? null);
}
