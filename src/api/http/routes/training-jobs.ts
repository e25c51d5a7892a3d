// Routes that create, list, read, watch, cancel, replay and retry training jobs.
import type { FastifyInstance } from "fastify";
import { type Caller, reachOf } from "../../../base/domain/access.ts";
import { isTerminal, type JobEvent, type TrainingJob } from "../../../base/domain/job.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { ValueOf } from "../../wire/body.ts";
import type { BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { pageOrEvents, type WatchedList } from "../event-reply.ts";
import { readsPage } from "../memory-budget/stored-reads.ts";
import { locate } from "../../wire/field-paths.ts";
import { pageBody, pageQuerySchema, pageRequest, pageSchema } from "../../wire/page.ts";
import {
  createdJobSchema,
  jobEventBody,
  jobEventSchema,
  jobQuerySchema,
  trainingJobForm,
  trainingJobSchema,
} from "../../wire/training-job.ts";
import { jobBodies, jobBody } from "./job-bodies.ts";
import { reachJob, reachModel } from "./reach.ts";
import { submitRolloutJob } from "./rollouts/submit-rollout-job.ts";
import { modelCheck, submitJob, madeBy, trainerPaths, vocabularySizeOf } from "./submit-job.ts";

export function trainingJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const { jobs, jobQueue, settings } = dependencies;
  const on = endpoints(app, { tag: "training", scheme: "bearer" });
  const one = {
    find: ({ job_id: id }: { readonly job_id: string }, caller: Caller) => reachJob(dependencies, caller, id),
    answer: "The job.",
    json: trainingJobSchema,
  };
  const toJobBody = (job: TrainingJob): Promise<object> => jobBody(job, dependencies);
  on(
    "POST /v1/preview/training-jobs",
    {
      summary: "Create a training job",
      description:
        "Creates a reinforcement learning job, which trains a model on trajectories with rewards, or on rollouts that have been finished. The job is on disk before the server answers. If you repeat a request with the same header `Idempotency-Key`, you get the first answer again.",
      body: bodies.form("training job", trainingJobForm, (request) => ({
        vocabularySize: vocabularySizeOf(request.model, dependencies),
      })),
      answer: "The job's id.",
      json: createdJobSchema,
      options: {
        config: { headCheck: (request) => modelCheck(request, dependencies) },
        bodyLimit: settings.trajectoryBodyBytes,
      },
    },
    async ({ body, request }) => {
      const task = { kind: "rl", config: body.config } as const;
      if (body.rollouts !== null)
        return {
          id: await submitRolloutJob(request, dependencies, { ...body, task, selection: body.rollouts }),
        };
      return { id: await submitJob(request, dependencies, { ...body, task }) };
    },
  );
  on(
    "GET /v1/preview/training-jobs",
    {
      summary: "List training jobs",
      query: jobQuerySchema,
      answer: "A page of jobs, newest first by default.",
      json: pageSchema(trainingJobSchema),
      options: readsPage,
    },
    async ({ query, caller }) => {
      const filter = {
        ...(reachOf(caller) ?? { entity: null }),
        modelId: await requestedModelId(query, caller, dependencies),
        ...(query.search !== undefined && { text: query.search }),
        kind: query.kind ?? null,
        state: query.state ?? null,
      };
      const page = await jobs.list(filter, pageRequest(query, "desc"));
      return pageBody(page, await jobBodies(page.items, dependencies));
    },
  );
  on("GET /v1/preview/training-jobs/:job_id", { summary: "Read a training job", ...one }, ({ found }) =>
    toJobBody(found),
  );
  on(
    "POST /v1/preview/training-jobs/:job_id/cancel",
    {
      summary: "Cancel a training job",
      description:
        "A job that has already ended does not change; the response header `x-hone-notice` then says so.",
      ...one,
    },
    async ({ found: before, reply }) => {
      const job = await jobQueue.cancel(before.id);
      if (isTerminal(before.state))
        reply.header("x-hone-notice", `The job had ended before (${before.state}); nothing was cancelled.`);
      return toJobBody(job);
    },
  );
  on(
    "POST /v1/preview/training-jobs/:job_id/replay",
    {
      ...one,
      summary: "Replay a training job",
      description:
        "Repeats a job's training with the same data, start version, settings and seed. The replay is a separate job that makes no version. It compares its result byte for byte with the version that the original job made. If the job cannot be repeated, the answer is 409 with the reason.",
      answer: "The id of the replay, which is a job too.",
      json: createdJobSchema,
    },
    async ({ found, request }) => ({ id: await jobQueue.replay(found, madeBy(request)) }),
  );
  on(
    "POST /v1/preview/training-jobs/:job_id/retry",
    {
      ...one,
      summary: "Retry a training job",
      description:
        "Creates a new job with the stored data of a job that failed or was cancelled. The new job starts from the version that is the model's newest at the time of the retry. Until the new job itself fails, further requests to retry the old job return the new one. If the job cannot be retried, the answer is 409.",
      answer: "The id of the new job.",
      json: createdJobSchema,
    },
    async ({ found, request }) => {
      try {
        return { id: await jobQueue.retry(found, madeBy(request)) };
      } catch (error) {
        throw locate(error, trainerPaths(found.task.kind));
      }
    },
  );
  on(
    "GET /v1/preview/training-jobs/:job_id/events",
    {
      summary: "List a job's events, or follow them",
      description:
        "With `Accept: text/event-stream` the server sends each event with its id as it occurs, and `[DONE]` after the last event. To continue a broken stream, send the id of the last event that you received in `after` or the header `Last-Event-ID`.",
      query: pageQuerySchema,
      answer: "A page of events, oldest first by default.",
      json: pageSchema(jobEventSchema),
      events: jobEventSchema,
    },
    async ({ params, query, caller, request, reply }) => {
      const { id } = await reachJob(dependencies, caller, params.job_id);
      const events: WatchedList<JobEvent> = {
        list: (asked) => jobs.listEvents(id, asked),
        watch: (after, signal) => dependencies.jobQueue.watchEvents(id, { after, signal }),
        body: jobEventBody,
      };
      return pageOrEvents(events, pageRequest(query, "asc"), { request, reply }, dependencies);
    },
  );
}

/**
 * Returns the id of the model whose jobs a query selects; null if the query selects jobs of all models.
 *
 * @throws ServiceError `not_found`, `forbidden`; `invalid` for a base model, or if the query has both the model's id
 * and its name
 */
async function requestedModelId(
  { model_id: id, model: name }: ValueOf<typeof jobQuerySchema>,
  caller: Caller,
  dependencies: HttpDependencies,
): Promise<string | null> {
  if (name === undefined)
    return id === undefined ? null : (await reachModel(dependencies, caller, id, ["query", "model_id"])).id;
  if (id !== undefined) throw modelFault("Name the model by model or by model_id, not by both.");
  const place = ["query", "model"];
  const { modelId } = await dependencies.directory.find(name, caller).catch((error: unknown) => {
    throw locate(error, { model: place, not_found: place, forbidden: place });
  });
  if (modelId === null)
    throw modelFault(`${quoted(name)} is a base model, which no job trains. Name a trained model.`);
  return modelId;
}

function modelFault(message: string): ServiceError {
  const faults = [{ location: ["query", "model"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", faults });
}
