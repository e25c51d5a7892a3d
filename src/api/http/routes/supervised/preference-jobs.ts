// Creating preference training jobs; everything else about them is as for any training job.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { preferenceJobForm, requirePairs } from "../../../wire/preferences/preference-job.ts";
import { createdJobSchema } from "../../../wire/training-job.ts";
import { readApart } from "../../bodies/body-reader.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { modelCheck, submitJob, submittedBefore } from "../submit-job.ts";
import type { FileReaders } from "./files.ts";
import { readNamedFile } from "./named-file.ts";

export function preferenceJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): void {
  app.post(
    "/v1/preview/preference-training-jobs",
    {
      config: { ...readApart.config, headCheck: (request) => modelCheck(request, dependencies) },
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
      schema: {
        summary: "Create a preference training job",
        description:
          "Has a model learn from which of two answers people preferred (DPO, IPO, SimPO), or from answers that they judged one by one (KTO). The job is on disk when it is answered; it is listed, watched and cancelled as every training job, and the header `Idempotency-Key` works alike.",
        tags: ["training"],
        security: [{ bearer: [] }],
        body: preferenceJobForm.schema,
        response: answered("Its id.", { json: createdJobSchema }),
      },
    },
    (request, reply) => create(request, reply, dependencies, readers),
  );
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<object> {
  const read = await readers.bodies.read("preference job", request);
  nameIgnored(reply, read.ignored);
  const { fileUrl, config } = read;
  const task = { kind: "preference", config } as const;
  if (fileUrl === null) return { id: await submitJob(request, dependencies, { ...read, task }) };
  const earlierId = await submittedBefore(request, dependencies, read.hash);
  if (earlierId !== null) return { id: earlierId };
  const named = { url: fileUrl, field: "file_id", inline: "pairs" };
  const file = await readNamedFile("preference file", named, request, dependencies, readers);
  requirePairs(config, file);
  return { id: await submitJob(request, dependencies, { ...read, lines: file.lines, task }) };
}
