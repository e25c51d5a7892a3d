// Routes that create jobs for supervised fine-tuning and preference training. The routes for training jobs of any kind
// do everything else with these jobs.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { JobTask } from "../../../../base/domain/job.ts";
import type { PackedLines } from "../../../wire/packed-lines.ts";
import { preferenceJobForm, requirePairs } from "../../../wire/preferences/preference-job.ts";
import { requireRates, supervisedJobForm } from "../../../wire/supervised/supervised-job.ts";
import { createdJobSchema } from "../../../wire/training-job.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { modelCheck, submitJob, type SubmittedJob, submittedBefore } from "../submit-job.ts";
import { earlierJobIn, readEarlierData } from "./earlier-data.ts";
import type { FileReaders } from "./files.ts";
import { readNamedFile } from "./named-file.ts";

export function supervisedJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): void {
  const on = endpoints(app, {
    tag: "training",
    scheme: "bearer",
    options: {
      config: { headCheck: (request) => modelCheck(request, dependencies) },
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
    },
  });
  const earlierDataOf = (
    id: string,
    use: { readonly field: string; readonly task: JobTask },
    request: FastifyRequest,
  ) => readEarlierData(id, use, request, dependencies, readers.budget);
  const created = { answer: "The job's id.", json: createdJobSchema };
  on(
    "POST /v1/preview/sft-training-jobs",
    {
      summary: "Create a supervised fine-tuning job",
      description:
        "Trains a model on the assistant's messages in conversations. The job is on disk before the server answers. You can list, follow and cancel it like any training job, and the header `Idempotency-Key` works as for all jobs.",
      body: readers.bodies.form("supervised job", supervisedJobForm),
      ...created,
    },
    ({ body, request }) => {
      const task = { kind: "sft", config: body.config } as const;
      const field = "training_data_url";
      return create({ ...body, task }, request, dependencies, async (url) => {
        const earlierId = earlierJobIn(url);
        if (earlierId !== null) {
          const data = await earlierDataOf(earlierId, { field, task }, request);
          requireRates(body.config, data.count);
          return data.lines;
        }
        const named = { url, field, inline: "training_data" };
        const file = await readNamedFile("conversation file", named, request, dependencies, readers);
        requireRates(body.config, file.conversationCount);
        return file.lines;
      });
    },
  );
  on(
    "POST /v1/preview/preference-training-jobs",
    {
      summary: "Create a preference training job",
      description:
        "Trains a model on preferences between two answers (DPO, IPO, SimPO), or on single answers that are wanted or unwanted (KTO). The job is on disk before the server answers. You can list, follow and cancel it like any training job, and the header `Idempotency-Key` works as for all jobs.",
      body: readers.bodies.form("preference job", preferenceJobForm),
      ...created,
    },
    ({ body, request }) => {
      const task = { kind: "preference", config: body.config } as const;
      const field = "file_id";
      return create({ ...body, task }, request, dependencies, async (url) => {
        const earlierId = earlierJobIn(url);
        if (earlierId !== null) return (await earlierDataOf(earlierId, { field, task }, request)).lines;
        const named = { url, field, inline: "pairs" };
        const file = await readNamedFile("preference file", named, request, dependencies, readers);
        requirePairs(body.config, file);
        return file.lines;
      });
    },
  );
}

/**
 * Creates the job. Its data is in the body, in a file that the body names, or in an earlier job that the body names.
 *
 * @param linesOf reads the data at a URL
 */
async function create(
  job: SubmittedJob & { readonly fileUrl: string | null },
  request: FastifyRequest,
  dependencies: HttpDependencies,
  linesOf: (url: string) => Promise<PackedLines>,
): Promise<{ readonly id: string }> {
  if (job.fileUrl === null) return { id: await submitJob(request, dependencies, job) };
  const earlierId = await submittedBefore(request, dependencies, job.hash);
  if (earlierId !== null) return { id: earlierId };
  const lines = await linesOf(job.fileUrl);
  return { id: await submitJob(request, dependencies, { ...job, lines }) };
}
