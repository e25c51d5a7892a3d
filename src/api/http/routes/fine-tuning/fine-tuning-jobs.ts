// Routes in the form of OpenAI's fine-tuning API that create, list and read jobs.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { reachOf } from "../../../../base/domain/access.ts";
import type { FineTuningFilter } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { fineTuningJobForm } from "../../../wire/fine-tuning/create-job.ts";
import { fineTuningJobSchema, fineTuningQuerySchema } from "../../../wire/fine-tuning/job.ts";
import { pageRequest, pageSchema } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import type { FileReaders } from "../supervised/files.ts";
import { createFineTuningJob } from "./create-job.ts";
import { fineTuningBody, oneFineTuningJob } from "./reach-job.ts";

export function fineTuningJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): void {
  const { fineTuning } = dependencies;
  const on = endpoints(app, { tag: "fine-tuning", scheme: "bearer" });
  const one = oneFineTuningJob(dependencies);
  on(
    "POST /v1/fine_tuning/jobs",
    {
      summary: "Create a fine-tuning job",
      description:
        "Trains a new model on an uploaded file, as in OpenAI's API. The job is on disk before the server answers. Its model and its training jobs are ordinary ones, which Hone's own routes list, too.",
      body: fineTuningJobForm,
      answer: "The job.",
      json: fineTuningJobSchema,
    },
    async ({ body, request }) =>
      fineTuningBody(await createFineTuningJob(body, request, dependencies, readers), dependencies),
  );
  on(
    "GET /v1/fine_tuning/jobs",
    {
      summary: "List fine-tuning jobs",
      query: fineTuningQuerySchema,
      answer: "A page of jobs, newest first by default.",
      json: pageSchema(fineTuningJobSchema),
    },
    async ({ query, caller, request }) => {
      const filter = { reach: reachOf(caller), metadata: metadataIn(request) };
      const page = await fineTuning.list(filter, pageRequest(query, "desc"));
      const data = await Promise.all(page.items.map((job) => fineTuningBody(job, dependencies)));
      return {
        object: "list",
        data,
        first_id: data[0]?.id ?? "",
        last_id: data.at(-1)?.id ?? "",
        has_more: page.hasMore,
      };
    },
  );
  on(
    "GET /v1/fine_tuning/jobs/:fine_tuning_job_id",
    { summary: "Read a fine-tuning job", ...one },
    ({ found }) => fineTuningBody(found, dependencies),
  );
}

/** Maximum number of pairs by which a list can be filtered. */
const pairsMax = 16;

/**
 * Returns the metadata filter of a query: `metadata[key]=value` or `metadata=null`.
 *
 * @throws ServiceError `invalid` for any other value of `metadata`, and for too many pairs
 */
function metadataIn({ query }: FastifyRequest): FineTuningFilter["metadata"] {
  // Safe cast: Fastify parses the query to an object of texts, or lists of texts for repeated names.
  const entries = Object.entries(query as Readonly<Record<string, string | readonly string[]>>);
  const whole = entries.find(([name]) => name === "metadata")?.[1];
  if (whole === "null") return null;
  const pairs = entries.flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
    return key === undefined ? [] : [[key, String(value)] as const];
  });
  if (whole === undefined && pairs.length <= pairsMax) return Object.fromEntries(pairs);
  const message =
    whole === undefined
      ? `There are ${pairs.length} pairs; at most ${pairsMax} are allowed.`
      : "metadata must be null; to select a pair, send metadata[key]=value.";
  const faults = [{ location: ["query", "metadata"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", faults });
}
