// Routes in the form of OpenAI's fine-tuning API that list a job's events and checkpoints.
import type { FastifyInstance } from "fastify";
import type { FineTuningJob } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { PageRequest } from "../../../../base/domain/page.ts";
import {
  creationEvent,
  fineTuningEventSchema,
  firstEventId,
  reinforcementEvent,
  trainingEvent,
  trainingEventId,
  type FineTuningEventBody,
} from "../../../wire/fine-tuning/events.ts";
import { checkpointSchema } from "../../../wire/fine-tuning/checkpoints.ts";
import { type PageBody, pageQuerySchema, pageRequest, pageSchema } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { checkpointsOf } from "./job-checkpoints.ts";
import { pageOf } from "./list-page.ts";
import { reachFineTuningJob } from "./reach-job.ts";

export function fineTuningEventRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const on = endpoints(app, { tag: "fine-tuning", scheme: "bearer" });
  on(
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id/events",
    {
      summary: "List a fine-tuning job's events",
      query: pageQuerySchema,
      answer: "A page of events, newest first by default.",
      json: pageSchema(fineTuningEventSchema),
    },
    async ({ params, query, caller }) => {
      const job = await reachFineTuningJob(dependencies, caller, params.fine_tuning_job_id);
      const page = pageRequest(query, "desc");
      if (job.progress === null) return trainingEvents(job, page, dependencies);
      const own = job.progress.events.map((event, index) => reinforcementEvent(job, event, index));
      return pageOf([creationEvent(job), ...own], page);
    },
  );
  on(
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id/checkpoints",
    {
      summary: "List a fine-tuning job's checkpoints",
      description: "Lists the versions that the job has made, except those that were deleted.",
      query: pageQuerySchema,
      answer: "A page of checkpoints, newest first by default.",
      json: pageSchema(checkpointSchema),
    },
    async ({ params, query, caller }) => {
      const job = await reachFineTuningJob(dependencies, caller, params.fine_tuning_job_id);
      return pageOf(await checkpointsOf(job, dependencies), pageRequest(query, "desc"));
    },
  );
}

/** Returns one page of the job's events: first the creation event, then the events of the training job. */
async function trainingEvents(
  job: FineTuningJob,
  page: PageRequest,
  { jobs }: HttpDependencies,
): Promise<PageBody> {
  const first = creationEvent(job);
  const training = job.trainingJobId === null ? null : await jobs.find(job.trainingJobId);
  const isAtFirst = page.after === firstEventId(job);
  const isEnd = page.order === "desc" && isAtFirst;
  if (training === null || isEnd) return pageOf(isEnd ? [] : [first], { ...page, after: null });
  const after = page.after === null || isAtFirst ? null : trainingEventId(page.after);
  const isLeading = page.order === "asc" && page.after === null;
  const rest = await jobs.listEvents(training.id, { ...page, after });
  const events = rest.items.map((event) => trainingEvent(event, training));
  const isLast = page.order === "desc" && !rest.hasMore;
  const all: readonly FineTuningEventBody[] = [
    ...(isLeading ? [first] : []),
    ...events,
    ...(isLast ? [first] : []),
  ];
  const items = all.slice(0, page.limit);
  return {
    object: "list",
    data: items,
    first_id: items[0]?.id ?? "",
    last_id: items.at(-1)?.id ?? "",
    has_more: rest.hasMore || items.length < all.length,
  };
}
