// Route that summarizes the state of the server and the running jobs, once or as a stream of changes.
import type { FastifyInstance } from "fastify";
import { type Caller, reachOf } from "../../../../base/domain/access.ts";
import type { JobFilter, TrainingJob } from "../../../../base/domain/job.ts";
import { serverSummarySchema } from "../../../wire/summary/server-summary.ts";
import { nameOf } from "../job-bodies.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { finishStream, openEventStream } from "../../event-reply.ts";
import { abandonedSignal } from "../../request-scope.ts";
import { serverStateOf } from "./server-state.ts";

/** Interval in milliseconds at which a stream looks for changes. */
const everyMs = 2000;
const jobsMax = 10;

export function summaryRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { clock, logger } = dependencies;
  const readState = serverStateOf(dependencies);
  const summaryFor = async (caller: Caller): Promise<object> => {
    const [state, jobs] = await Promise.all([readState(), jobsFor(caller, dependencies)]);
    return { ...state, ...jobs };
  };
  endpoints(app, { tag: "health", scheme: "bearer" })(
    "GET /v1/preview/summary",
    {
      summary: "Read a summary of the server, or follow it",
      description:
        "Contains the state of the server's parts and base models, and the running jobs that the key can read. With `Accept: text/event-stream` the server sends the summary at once, then again after each change, at most every two seconds.",
      answer: "The summary.",
      json: serverSummarySchema,
      events: serverSummarySchema,
    },
    async ({ caller, request, reply }) => {
      const first = await summaryFor(caller);
      if (!(request.headers.accept ?? "").includes("text/event-stream")) return first;
      const signal = abandonedSignal(reply);
      const stream = openEventStream(reply, dependencies);
      const sendAll = async (): Promise<void> => {
        let sent = "";
        for (let summary = first; ; summary = await summaryFor(caller)) {
          const text = JSON.stringify(summary);
          if (text !== sent) await stream.send(summary);
          sent = text;
          await clock.sleep(everyMs, { signal });
        }
      };
      await finishStream(stream, sendAll, { request, logger });
      return reply;
    },
  );
}

/** Returns the running jobs and the newest job that the caller can read. A key without access to jobs sees none. */
async function jobsFor(caller: Caller, { jobs, models }: HttpDependencies): Promise<object> {
  const isAllowed =
    caller.scopes === null || caller.scopes.some((scope) => scope === "train" || scope === "read");
  if (!isAllowed) return { running_jobs: [], newest_job_id: null };
  const filter = { ...(reachOf(caller) ?? { entity: null }), modelId: null, kind: null };
  const list = async (state: JobFilter["state"], limit: number): Promise<readonly TrainingJob[]> =>
    (await jobs.list({ ...filter, state }, { after: null, limit, order: "desc" })).items;
  const [running, [newest]] = await Promise.all([list("running", jobsMax), list(null, 1)]);
  const found = await models.findMany(running.map(({ modelId }) => modelId));
  return {
    running_jobs: running.map(({ id, modelId, task, progress, waitingFor }) => ({
      id,
      model_id: modelId,
      model: nameOf(found.get(modelId)),
      kind: task.kind,
      gradient_steps: progress?.gradientStepCount ?? null,
      gradient_steps_total: progress?.gradientStepCountTotal ?? null,
      waiting_for: waitingFor,
    })),
    newest_job_id: newest?.id ?? null,
  };
}
