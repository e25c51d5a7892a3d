// Routes that record traced calls of Weave clients, and return them as JSON lines.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import type { TracedCall } from "../../../base/domain/traces/traced-call.ts";
import type { CallInput, StartedCall } from "../../../judge/weave/call-service.ts";
import {
  callFilterOf,
  callReadAnswerSchema,
  callReadForm,
  callsDeleteAnswerSchema,
  callsDeleteForm,
  callsQueryForm,
  callsStatsForm,
  callText,
  type CallsQueryBody,
} from "../../wire/weave/call-queries.ts";
import {
  callBatchAnswerSchema,
  callBatchForm,
  callEndForm,
  callsCompleteForm,
  callStartAnswerSchema,
  callStartForm,
  noAnswerSchema,
} from "../../wire/weave/calls.ts";
import { countAnswerSchema } from "../../wire/weave/tables.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import { callCosts } from "../costs/call-costs.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { sendPieces } from "../paced-answer.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { jsonText } from "./object-routes.ts";
import { projectInPath, weaveEndpoints } from "./weave-endpoints.ts";

/** Number of calls that are read from the database at a time. */
const callsPerRead = 200;
/** Maximum number of feedback records in the line of a call. */
const feedbackPerCall = 100;

export function callRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { calls } = dependencies.traces;
  const on = weaveEndpoints(app, { bodyLimit: dependencies.settings.feedbackBodyBytes });
  const starts = {
    summary: "Record the start of a call",
    body: bodies.form("call start", callStartForm),
    answer: "The ids of the call and its trace.",
    json: callStartAnswerSchema,
  };
  const ends = {
    summary: "Record the end of a call",
    body: bodies.form("call end", callEndForm),
    answer: "The end is stored.",
    json: noAnswerSchema,
  };
  const record = (inputs: readonly CallInput[], caller: Caller, project: ProjectInPath | null = null) =>
    calls.record(inputs, project && `${project.entity}/${project.project}`, caller);
  const startedBody = ([started]: readonly (StartedCall | null)[]) => ({
    id: started?.id ?? "",
    trace_id: started?.traceId ?? "",
  });
  on("POST /call/start", starts, async ({ body, caller }) => startedBody(await record(body.value, caller)));
  on("POST /call/end", ends, async ({ body, caller }) => {
    await record(body.value, caller);
    return {};
  });
  on(
    "POST /v2/:entity/:project/call/start",
    { ...starts, documented: projectInPath },
    async ({ body, caller, params }) => startedBody(await record(body.value, caller, params)),
  );
  on(
    "POST /v2/:entity/:project/call/end",
    { ...ends, documented: projectInPath },
    async ({ body, caller, params }) => {
      await record(body.value, caller, params);
      return {};
    },
  );
  on(
    "POST /v2/:entity/:project/calls/complete",
    {
      summary: "Record calls that have ended",
      description:
        "All calls are on disk before the server answers. Sending a recorded call again has no effect.",
      documented: projectInPath,
      body: bodies.form("calls complete", callsCompleteForm),
      answer: "The calls are stored.",
      json: noAnswerSchema,
    },
    async ({ body, caller, params }) => {
      await record(body.value, caller, params);
      return {};
    },
  );
  on(
    "POST /call/upsert_batch",
    {
      summary: "Record starts and ends of calls",
      description:
        "All starts and ends are on disk before the server answers. Sending a start or an end again has no effect.",
      body: bodies.form("call batch", callBatchForm),
      answer: "The ids of the calls that started.",
      json: callBatchAnswerSchema,
    },
    async ({ body, caller }) => {
      const recorded = await record(body.value, caller);
      return {
        res: recorded.map((started) =>
          started === null ? {} : { id: started.id, trace_id: started.traceId },
        ),
      };
    },
  );
  readingRoutes(app, dependencies);
}

interface ProjectInPath {
  readonly entity: string;
  readonly project: string;
}

function readingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { calls } = dependencies.traces;
  const on = weaveEndpoints(app);
  on(
    "POST /calls/stream_query",
    {
      summary: "Read recorded calls",
      description: "Returns one call per line, as JSON.",
      body: callsQueryForm,
      answer: "The calls.",
      lines: { type: "string", description: "One call per line." },
      options: readsPage,
    },
    async ({ body, caller, reply }) => {
      const first = await readCalls(dependencies, caller, body, null);
      reply.type("application/jsonl; charset=utf-8");
      return sendPieces(reply, callLines(dependencies, caller, body, first), dependencies.settings);
    },
  );
  on(
    "POST /calls/query_stats",
    {
      summary: "Count recorded calls",
      body: callsStatsForm,
      answer: "The number of calls.",
      json: countAnswerSchema,
    },
    async ({ body, caller }) => {
      const count = await calls.count(body.project_id, callFilterOf(body.filter), caller);
      return { count: Math.min(count, body.limit ?? Infinity) };
    },
  );
  on(
    "POST /call/read",
    {
      summary: "Read a recorded call",
      body: callReadForm,
      answer: "The call; null if it does not exist.",
      json: callReadAnswerSchema,
      options: readsPage,
    },
    async ({ body, caller, reply }) => {
      const filter = { ...callFilterOf(null), ids: [body.id] };
      const slice = { limit: 1, offset: 0, isDescending: false };
      const [call] = await calls.list(body.project_id, filter, slice, caller);
      if (call === undefined) return jsonText(reply, '{"call":null}');
      const costs = body.include_costs === true ? await callCosts(dependencies, caller)(call) : null;
      return jsonText(reply, `{"call":${callText(call, { feedback: null, costs }, null)}}`);
    },
  );
  on(
    "POST /calls/delete",
    {
      summary: "Delete recorded calls",
      description: "The calls are deleted permanently; feedback on them is kept.",
      body: callsDeleteForm,
      answer: "The number of calls deleted.",
      json: callsDeleteAnswerSchema,
    },
    async ({ body, caller }) => ({
      num_deleted: await calls.delete(body.project_id, body.call_ids, caller),
    }),
  );
}

/** Progress of a query: the number of calls read so far, and the last of them. */
interface CallsRead {
  readonly count: number;
  readonly last: TracedCall;
}

/**
 * Reads the next calls of a query.
 *
 * @param read progress so far; null at the beginning
 */
function readCalls(
  { traces }: HttpDependencies,
  caller: Caller,
  body: CallsQueryBody,
  read: CallsRead | null,
): Promise<readonly TracedCall[]> {
  const slice = {
    limit: Math.min(callsPerRead, (body.limit ?? Infinity) - (read?.count ?? 0)),
    offset: read === null ? (body.offset ?? 0) : 0,
    after: read?.last ?? null,
    isDescending: body.sort_by?.[0]?.direction === "desc",
  };
  return traces.calls.list(body.project_id, callFilterOf(body.filter), slice, caller);
}

/** Yields a line for each call. Reads calls only as fast as the client reads lines. */
async function* callLines(
  dependencies: HttpDependencies,
  caller: Caller,
  body: CallsQueryBody,
  first: readonly TracedCall[],
): AsyncGenerator<string, void> {
  const costsOf = callCosts(dependencies, caller);
  let count = 0;
  let calls = first;
  for (let last = calls.at(-1); last !== undefined; last = calls.at(-1)) {
    for (const call of calls) {
      const feedback = body.include_feedback === true ? await feedbackOn(dependencies, caller, call) : null;
      const costs = body.include_costs === true ? await costsOf(call) : null;
      yield `${callText(call, { feedback, costs }, body.columns ?? null)}\n`;
    }
    count += calls.length;
    calls = await readCalls(dependencies, caller, body, { count, last });
  }
}

async function feedbackOn(
  { feedback }: HttpDependencies,
  caller: Caller,
  { projectId, id }: TracedCall,
): Promise<readonly FeedbackRecord[]> {
  const reference = { kind: "field", field: { kind: "text", name: "vendorRef" } } as const;
  const query = {
    projectId,
    condition: compare("eq", reference, constant(`weave:///${projectId}/call/${id}`)),
    sortBy: [],
    limit: feedbackPerCall,
    offset: 0,
  };
  return (await feedback.query(query, caller)).items;
}
