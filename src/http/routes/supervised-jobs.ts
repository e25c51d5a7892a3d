// Creating supervised fine-tuning jobs; everything else about them is as for any training job.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { quoted, ServiceError } from "../../domain/service-error.ts";
import { createdJobSchema } from "../../wire/training-job.ts";
import { supervisedJobForm } from "../../wire/supervised/supervised-job.ts";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { modelCheck, submitJob } from "./submit-job.ts";

export function supervisedJobRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  bodies: BodyReader,
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
    (request, reply) => create(request, reply, dependencies, bodies),
  );
}

/** Whatever else an address may lead to, it is not looked at. */
function noSuchFile(url: string): ServiceError {
  const message = `${quoted(url)} is no file of this server, and files elsewhere are not fetched. Send the conversations in training_data.`;
  const faults = [{ location: ["body", "training_data_url"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", faults });
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
  bodies: BodyReader,
): Promise<object> {
  const read = await bodies.read("supervised job", request);
  nameIgnored(reply, read.ignored);
  if (read.fileUrl !== null) throw noSuchFile(read.fileUrl);
  const task = { kind: "sft", config: read.config } as const;
  return { id: await submitJob(request, dependencies, { ...read, task }) };
}
