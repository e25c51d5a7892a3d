// Creating supervised fine-tuning jobs; everything else about them is as for any training job.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { quoted, ServiceError } from "../../../domain/service-error.ts";
import type { UploadedFile } from "../../../domain/uploads/uploaded-file.ts";
import { fileIdIn } from "../../../wire/files/file-url.ts";
import { locate } from "../../../wire/places.ts";
import type { StoredConversations } from "../../../wire/supervised/conversations.ts";
import { createdJobSchema } from "../../../wire/training-job.ts";
import { requireRates, supervisedJobForm } from "../../../wire/supervised/supervised-job.ts";
import { readApart, type BodyReader } from "../../bodies/body-reader.ts";
import type { ByteBudget } from "../../bodies/gather-body.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import type { FileReaders } from "./files.ts";
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

/** Whatever else an address may lead to, it is not looked at. */
function noSuchFile(url: string): ServiceError {
  const message = `${quoted(url)} is no file of this server, and files elsewhere are not fetched. Upload the file here, or send the conversations in training_data.`;
  const faults = [{ location: ["body", "training_data_url"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", faults });
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
  const { lines, conversationCount } = await readFile(fileUrl, request, dependencies, readers);
  requireRates(config, conversationCount);
  return { id: await submitJob(request, dependencies, { ...read, lines, task }) };
}

/** The conversations of a file that the request names; its bytes count among those of bodies while they are read. */
async function readFile(
  url: string,
  request: FastifyRequest,
  { files }: HttpDependencies,
  { bodies, budget }: FileReaders,
): Promise<StoredConversations> {
  const file = await findFile(url, request, files);
  budget.take(file.byteCount);
  try {
    const bytes = await files.use(file);
    const body = { pieces: [bytes], byteCount: bytes.length };
    const { caller, id, headers } = request;
    return await bodies.read("conversation file", { body, caller, id, headers });
  } finally {
    budget.giveBack(file.byteCount);
  }
}

async function findFile(
  url: string,
  { caller, headers }: FastifyRequest,
  files: HttpDependencies["files"],
): Promise<UploadedFile> {
  const id = fileIdIn(url, headers.host ?? null);
  if (id === null) throw noSuchFile(url);
  try {
    return await files.find(id, caller);
  } catch (error) {
    throw locate(error, { not_found: ["body", "training_data_url"] });
  }
}
