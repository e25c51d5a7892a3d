// Training jobs: creating, listing, reading, watching and cancelling them.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Caller, reachOf } from "../../../base/domain/access.ts";
import { isTerminal, type TrainingJob } from "../../../base/domain/job.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { ValueOf } from "../../wire/checked.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endAfter, openEventStream } from "../event-reply.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { readQuery } from "../input/query.ts";
import { readsPage } from "../reading/stored-reads.ts";
import { abandonedSignal } from "../request-scope.ts";
import { locate } from "../../wire/places.ts";
import { cursorRefusal, pageAnswer, pageBody, pageQuerySchema, pageRequest } from "../../wire/page.ts";
import { answered } from "../documentation/document-routes.ts";
import {
  createdJobSchema,
  jobEventBody,
  jobEventPageSchema,
  jobEventSchema,
  jobQuerySchema,
  trainingJobForm,
  trainingJobPageSchema,
  trainingJobSchema,
} from "../../wire/training-job.ts";
import { jobBodies, jobBody } from "./job-bodies.ts";
import { jobParameters, reachJob, reachModel } from "./reach.ts";
import { modelCheck, submitJob, madeBy, trainerPlaces, vocabularySizeOf } from "./submit-job.ts";

const documented = { tags: ["training"], security: [{ bearer: [] }] };
const path = "/v1/preview/training-jobs";

interface JobPath {
  Params: { job_id: string };
}

export function trainingJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): void {
  const bodyOf = (job: TrainingJob): Promise<object> => jobBody(job, dependencies);
  app.post(
    path,
    {
      config: { ...readApart.config, headCheck: (request) => modelCheck(request, dependencies) },
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
      schema: {
        summary: "Create a training job",
        description:
          "Trains a model on trajectories with rewards; the job is on disk when it is answered. The header `Idempotency-Key` has a request that is sent again answered as the first time.",
        body: trainingJobForm.schema,
        response: answered("Its id.", { json: createdJobSchema }),
        ...documented,
      },
    },
    (request, reply) => create(request, reply, dependencies, bodies),
  );
  app.get(
    path,
    {
      ...readsPage,
      schema: {
        summary: "List training jobs",
        querystring: jobQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: trainingJobPageSchema }),
        ...documented,
      },
    },
    (request, reply) => list(request, reply, dependencies),
  );
  app.get<JobPath>(
    `${path}/:job_id`,
    {
      schema: {
        summary: "Read a training job",
        params: jobParameters,
        response: answered("The job.", { json: trainingJobSchema }),
        ...documented,
      },
    },
    async (request) => bodyOf(await reachJob(dependencies, request.caller, request.params.job_id)),
  );
  app.post<JobPath>(
    `${path}/:job_id/cancel`,
    {
      schema: {
        summary: "Cancel a training job",
        description: "One that has ended stays as it is; the header `x-hone-notice` then says so.",
        params: jobParameters,
        response: answered("The job.", { json: trainingJobSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const before = await reachJob(dependencies, request.caller, request.params.job_id);
      const job = await dependencies.jobQueue.cancel(before.id);
      if (isTerminal(before.state))
        reply.header("x-hone-notice", `The job had ended before (${before.state}); nothing was cancelled.`);
      return bodyOf(job);
    },
  );
  app.post<JobPath>(
    `${path}/:job_id/replay`,
    {
      schema: {
        summary: "Replay a training job",
        description:
          "Trains the same data from the same version with the same settings and seed once more, in a job of its own that makes no version, and compares what comes of it with the version that the job made, byte for byte. 409 says why a job cannot be repeated.",
        params: jobParameters,
        response: answered("The id of the replay, a job itself.", { json: createdJobSchema }),
        ...documented,
      },
    },
    async (request) => {
      const job = await reachJob(dependencies, request.caller, request.params.job_id);
      return { id: await dependencies.jobQueue.replay(job, madeBy(request)) };
    },
  );
  app.post<JobPath>(
    `${path}/:job_id/retry`,
    {
      schema: {
        summary: "Try a training job again",
        description:
          "Trains what a job was to train that failed or was cancelled, in a new job that starts from the model's newest version by then; nothing is sent again. Asked again, it answers with the same new job, until that one has failed too. 409 where there is nothing to try again.",
        params: jobParameters,
        response: answered("The id of the new job.", { json: createdJobSchema }),
        ...documented,
      },
    },
    async (request) => {
      const job = await reachJob(dependencies, request.caller, request.params.job_id);
      try {
        return { id: await dependencies.jobQueue.retry(job, madeBy(request)) };
      } catch (error) {
        throw locate(error, trainerPlaces(job.task.kind));
      }
    },
  );
  app.get<JobPath>(
    `${path}/:job_id/events`,
    {
      schema: {
        summary: "Page through a job's events, or watch them",
        params: jobParameters,
        description:
          "With `Accept: text/event-stream` sends every event as it comes, with its id, and `[DONE]` after the last; a stream that was broken off goes on behind `after` or the header `Last-Event-ID`.",
        querystring: pageQuerySchema,
        response: answered("A page of them, the oldest first unless asked.", {
          json: jobEventPageSchema,
          events: jobEventSchema,
        }),
        ...documented,
      },
    },
    (request, reply) => events(request, reply, dependencies, request.params.job_id),
  );
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): Promise<object> {
  const vocabularySize = vocabularySizeOf(request.model, dependencies);
  const read = await bodies.read("training job", request, { vocabularySize });
  nameIgnored(reply, read.ignored);
  const task = { kind: "rl", config: read.config } as const;
  return { id: await submitJob(request, dependencies, { ...read, task }) };
}

async function list(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<object> {
  const value = readQuery(jobQuerySchema, request, reply);
  const { caller } = request;
  const filter = {
    ...(reachOf(caller) ?? { entity: null }),
    modelId: await modelAsked(value, caller, dependencies),
    kind: value.kind ?? null,
    state: value.state ?? null,
  };
  try {
    const page = await dependencies.jobs.list(filter, pageRequest(value, "desc"));
    return pageBody(page, await jobBodies(page.items, dependencies));
  } catch (error) {
    throw cursorRefusal(error);
  }
}

/**
 * Returns the id of the model that a query names; null if it names none.
 *
 * @throws ServiceError `not_found`, `forbidden`; `invalid` for a base model, or for a model that is named twice
 */
async function modelAsked(
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

async function events(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  jobId: string,
): Promise<unknown> {
  const value = readQuery(pageQuerySchema, request, reply);
  const job = await reachJob(dependencies, request.caller, jobId);
  const asked = pageRequest(value, "asc");
  if (!(request.headers.accept ?? "").includes("text/event-stream")) {
    return pageAnswer(dependencies.jobs.listEvents(job.id, asked), jobEventBody);
  }
  const signal = abandonedSignal(reply);
  const header = request.headers["last-event-id"];
  // What a browser sends when it goes on by itself is newer than what its first request said.
  const isResumed = typeof header === "string" && header !== "";
  const after = isResumed ? header : asked.after;
  const watched = dependencies.jobQueue.watchEvents(job.id, { after, signal });
  const placeOfCursor = isResumed ? ["header", "last-event-id"] : undefined;
  const stream = openEventStream(reply, dependencies, { isNamed: false, hasIds: true });
  const sendAll = async (): Promise<void> => {
    try {
      for await (const event of watched) await stream.send(jobEventBody(event));
    } catch (error) {
      throw cursorRefusal(error, placeOfCursor);
    }
    // A watch ends quietly on abort; its reader must not take that for the end of the job.
    signal.throwIfAborted();
  };
  await endAfter(stream, sendAll, { request, logger: dependencies.logger });
  return reply;
}
