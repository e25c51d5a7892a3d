// Recording calls, and reading them back as lines of JSON.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import type { TracedCall } from "../../../base/domain/traces/traced-call.ts";
import type { CallInput, StartedCall } from "../../../judge/traces/call-service.ts";
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
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { readBody } from "../input/read-body.ts";
import { sendPieces } from "../patient-answer.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { jsonText } from "./object-routes.ts";
import { documented, inBody } from "./weave-route.ts";

interface ProjectPath {
  Params: { entity: string; project: string };
}

const projectParameters = {
  type: "object",
  properties: {
    entity: { type: "string", description: "The project's entity." },
    project: { type: "string", description: "The project." },
  },
} as const;

/** Calls that are read at a time. */
const callsPerRead = 200;
/** Of each call, that its line shows. */
const feedbackPerCall = 100;

type RecordKind = "call start" | "call end" | "calls complete" | "call batch";

export function callRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { traces, settings } = dependencies;
  const { calls } = traces;
  const record = async (
    kind: RecordKind,
    request: FastifyRequest,
    reply: Parameters<typeof nameIgnored>[0],
    projectId: string | null = null,
  ): Promise<readonly (StartedCall | null)[]> => {
    const { value, ignored } = await bodies.read(kind, request);
    nameIgnored(reply, ignored);
    const inputs: readonly CallInput[] = value;
    return await calls.record(inputs, projectId, request.caller).catch(inBody());
  };
  const options = { ...readApart, bodyLimit: settings.feedbackBodyBytes };
  const starts = {
    summary: "Record that a call began",
    body: callStartForm.schema,
    response: answered("What names it.", { json: callStartAnswerSchema }),
  };
  const ends = {
    summary: "Record that a call ended",
    body: callEndForm.schema,
    response: answered("It is stored.", { json: noAnswerSchema }),
  };
  const startedBody = ([started]: readonly (StartedCall | null)[]) => ({
    id: started?.id ?? "",
    trace_id: started?.traceId ?? "",
  });
  app.post("/call/start", { ...options, schema: documented(starts) }, async (request, reply) =>
    startedBody(await record("call start", request, reply)),
  );
  app.post("/call/end", { ...options, schema: documented(ends) }, async (request, reply) => {
    await record("call end", request, reply);
    return {};
  });
  app.post<ProjectPath>(
    "/v2/:entity/:project/call/start",
    { ...options, schema: documented({ ...starts, params: projectParameters }) },
    async (request, reply) => startedBody(await record("call start", request, reply, projectOf(request))),
  );
  app.post<ProjectPath>(
    "/v2/:entity/:project/call/end",
    { ...options, schema: documented({ ...ends, params: projectParameters }) },
    async (request, reply) => {
      await record("call end", request, reply, projectOf(request));
      return {};
    },
  );
  app.post<ProjectPath>(
    "/v2/:entity/:project/calls/complete",
    {
      ...options,
      schema: documented({
        summary: "Record calls that have ended",
        description: "All are on disk when it is answered; what is sent again changes nothing.",
        params: projectParameters,
        body: callsCompleteForm.schema,
        response: answered("They are stored.", { json: noAnswerSchema }),
      }),
    },
    async (request, reply) => {
      await record("calls complete", request, reply, projectOf(request));
      return {};
    },
  );
  app.post(
    "/call/upsert_batch",
    {
      ...options,
      schema: documented({
        summary: "Record beginnings and ends of calls",
        description: "All are on disk when it is answered; what is sent again changes nothing.",
        body: callBatchForm.schema,
        response: answered("What names those that began.", { json: callBatchAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const recorded = await record("call batch", request, reply);
      return {
        res: recorded.map((started) =>
          started === null ? {} : { id: started.id, trace_id: started.traceId },
        ),
      };
    },
  );
  readingRoutes(app, dependencies);
}

function projectOf({ params }: FastifyRequest<ProjectPath>): string {
  return `${params.entity}/${params.project}`;
}

function readingRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { calls } = dependencies.traces;
  app.post(
    "/calls/stream_query",
    {
      ...readsPage,
      schema: documented({
        summary: "Read recorded calls",
        description: "A call in each line, as JSON.",
        body: callsQueryForm.schema,
        response: answered("The calls.", { lines: { type: "string", description: "Each line is a call." } }),
      }),
    },
    async (request, reply) => {
      const body = readBody(callsQueryForm, request, reply);
      // What is refused is answered before the stream begins.
      const first = await readCalls(dependencies, request, body, null).catch(inBody());
      reply.type("application/jsonl; charset=utf-8");
      return sendPieces(reply, callLines(dependencies, request, body, first), dependencies.settings);
    },
  );
  app.post(
    "/calls/query_stats",
    {
      schema: documented({
        summary: "Count recorded calls",
        body: callsStatsForm.schema,
        response: answered("How many there are.", { json: countAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(callsStatsForm, request, reply);
      const filter = callFilterOf(body.filter);
      const count = await calls.count(body.project_id, filter, request.caller).catch(inBody());
      return { count: Math.min(count, body.limit ?? Infinity) };
    },
  );
  app.post(
    "/call/read",
    {
      ...readsPage,
      schema: documented({
        summary: "Read a recorded call",
        body: callReadForm.schema,
        response: answered("The call; null where there is none.", { json: callReadAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(callReadForm, request, reply);
      const filter = { ...callFilterOf(null), ids: [body.id] };
      const slice = { limit: 1, offset: 0, isDescending: false };
      const [call] = await calls.list(body.project_id, filter, slice, request.caller).catch(inBody());
      return jsonText(reply, `{"call":${call === undefined ? "null" : callText(call, null, null)}}`);
    },
  );
  app.post(
    "/calls/delete",
    {
      schema: documented({
        summary: "Delete recorded calls",
        description: "They are gone for good; feedback on them stays.",
        body: callsDeleteForm.schema,
        response: answered("How many there were.", { json: callsDeleteAnswerSchema }),
      }),
    },
    async (request, reply) => {
      const body = readBody(callsDeleteForm, request, reply);
      const count = await calls.delete(body.project_id, body.call_ids, request.caller).catch(inBody());
      return { num_deleted: count };
    },
  );
}

/** How far a query was read. */
interface CallsRead {
  readonly count: number;
  readonly last: TracedCall;
}

/** The next calls of a query. @param read null at its beginning */
function readCalls(
  { traces }: HttpDependencies,
  { caller }: FastifyRequest,
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

/** A line for each call as the client takes them. */
async function* callLines(
  dependencies: HttpDependencies,
  request: FastifyRequest,
  body: CallsQueryBody,
  first: readonly TracedCall[],
): AsyncGenerator<string, void> {
  let count = 0;
  let calls = first;
  for (let last = calls.at(-1); last !== undefined; last = calls.at(-1)) {
    for (const call of calls) {
      const feedback = body.include_feedback === true ? await feedbackOn(dependencies, request, call) : null;
      yield `${callText(call, feedback, body.columns ?? null)}\n`;
    }
    count += calls.length;
    calls = await readCalls(dependencies, request, body, { count, last });
  }
}

async function feedbackOn(
  { feedback }: HttpDependencies,
  { caller }: FastifyRequest,
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
