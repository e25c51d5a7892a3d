// Creating supervised fine-tuning jobs; everything else about them is as for any training job.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createdJobSchema } from "../../../wire/training-job.ts";
import { requireRates, supervisedJobForm } from "../../../wire/supervised/supervised-job.ts";
import { readApart, type BodyReader } from "../../bodies/body-reader.ts";
import type { ByteBudget } from "../../bodies/gather-body.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import type { FileReaders } from "./files.ts";
import { readNamedFile } from "./named-file.ts";
import { modelCheck, submitJob, submittedBefore } from "../submit-job.ts";

export function supervisedJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
  budget: ByteBudget,
): void {
  app.post(
    "/v1/preview/sft-training-jobs",
    {
      config: { ...readApart.config, headCheck: (request) => modelCheck(request, dependencies) },
      bodyLimit: dependencies.settings.trajectoryBodyBytes,
      schema: {
        summary: "Create a supervised fine-tuning job",
        description:
          "Teaches a model what the assistant says in conversations. The job is on disk when it is answered; it is listed, watched and cancelled as every training job, and the header `Idempotency-Key` works alike.",
        tags: ["training"],
        security: [{ bearer: [] }],
        body: supervisedJobForm.schema,
        response: answered("Its id.", { json: createdJobSchema }),
      },
    },
    (request, reply) => create(request, reply, dependencies, { bodies, budget }),
  );
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<object> {
  const read = await readers.bodies.read("supervised job", request);
  nameIgnored(reply, read.ignored);
  const { fileUrl, config } = read;
  const task = { kind: "sft", config } as const;
  if (fileUrl === null) return { id: await submitJob(request, dependencies, { ...read, task }) };
  const earlierId = await submittedBefore(request, dependencies, read.hash);
  if (earlierId !== null) return { id: earlierId };
  const named = { url: fileUrl, field: "training_data_url", inline: "training_data" };
  const file = await readNamedFile("conversation file", named, request, dependencies, readers);
  const { lines, conversationCount } = file;
  requireRates(config, conversationCount);
  return { id: await submitJob(request, dependencies, { ...read, lines, task }) };
}
