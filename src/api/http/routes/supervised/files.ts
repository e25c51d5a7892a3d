// Uploaded files, as OpenAI's clients know them: uploading, listing, reading and deleting what jobs are to be trained on.
import { fastifyMultipart } from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { UploadedFile } from "../../../../base/domain/uploads/uploaded-file.ts";
import type { ReceivedFile } from "../../../../train/files/file-service.ts";
import { fileIdOf } from "../../../wire/files/file-url.ts";
import {
  fileBody,
  fileDeletionSchema,
  filePageSchema,
  fileQuerySchema,
  fileSchema,
  uploadSchema,
} from "../../../wire/files/file.ts";
import { pageAnswer, pageRequest } from "../../../wire/page.ts";
import { locate } from "../../../wire/places.ts";
import type { BodyReader } from "../../bodies/body-reader.ts";
import type { ByteBudget } from "../../bodies/gather-body.ts";
import { readUpload } from "../../bodies/read-upload.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";

const documented = { tags: ["files"], security: [{ bearer: [] }] };
const path = "/v1/files";

/** What the lines of a file are read with. */
export interface FileReaders {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

interface FilePath {
  Params: { file_id: string };
}

const fileParameters = {
  type: "object",
  properties: { file_id: { type: "string", description: "The file's id." } },
} as const;

/** Forms are read here alone: elsewhere a body of that type is refused. */
export async function fileRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<void> {
  const { files } = dependencies;
  await app.register(fastifyMultipart, { throwFileSizeLimit: false });
  const reach = (request: FastifyRequest<FilePath>): Promise<UploadedFile> =>
    reachFile(dependencies, request);
  app.post(
    path,
    {
      schema: {
        summary: "Upload a file",
        description:
          "Takes a file of conversations, or of preferences, one a line as JSON, as a job would read it: what no job could use is refused with its lines. It is on disk when it is answered.",
        consumes: ["multipart/form-data"],
        body: uploadSchema,
        response: answered("The file.", { json: fileSchema }),
        ...documented,
      },
    },
    async (request) => {
      await dependencies.room.require(request.caller.entity);
      const { received, name, purpose } = await readUpload(request, files);
      try {
        await checkLines(received, request, files, readers);
        return fileBody(await files.keep(received, { entity: request.caller.entity, name, purpose }));
      } catch (error) {
        await files.discard(received);
        throw error;
      }
    },
  );
  app.get(
    path,
    {
      schema: {
        summary: "List files",
        querystring: fileQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: filePageSchema }),
        ...documented,
      },
    },
    (request, reply) => {
      const query = readQuery(fileQuerySchema, request, reply);
      const page = files.list(query.purpose ?? null, pageRequest(query, "desc"), request.caller);
      return pageAnswer(page, fileBody);
    },
  );
  app.get<FilePath>(
    `${path}/:file_id`,
    {
      schema: {
        summary: "Read what is known of a file",
        params: fileParameters,
        response: answered("The file.", { json: fileSchema }),
        ...documented,
      },
    },
    async (request) => fileBody(await reach(request)),
  );
  app.get<FilePath>(
    `${path}/:file_id/content`,
    {
      schema: {
        summary: "Read a file",
        params: fileParameters,
        response: answered("Its bytes.", { bytes: { type: "string", format: "binary" } }),
        ...documented,
      },
    },
    async (request, reply) => {
      const file = await reach(request);
      reply.header("content-length", file.byteCount).type("application/octet-stream");
      // No browser is to show it as a page of this server.
      reply.header("content-disposition", "attachment").header("x-content-type-options", "nosniff");
      return reply.send(await files.read(file));
    },
  );
  app.delete<FilePath>(
    `${path}/:file_id`,
    {
      schema: {
        summary: "Delete a file",
        description: "Jobs that were made of it keep what they train on.",
        params: fileParameters,
        response: answered("What was deleted.", { json: fileDeletionSchema }),
        ...documented,
      },
    },
    async (request) => {
      const file = await reach(request);
      await files.delete(file);
      return { id: file.id, object: "file", deleted: true };
    },
  );
}

/** Its bytes count among those of bodies while they are read. */
async function checkLines(
  received: ReceivedFile,
  { caller, id, headers }: FastifyRequest,
  files: HttpDependencies["files"],
  { bodies, budget }: FileReaders,
): Promise<void> {
  const held = budget.forBody(caller.entity);
  held.add(received.byteCount);
  try {
    const bytes = await files.look(received);
    const body = { pieces: [bytes], byteCount: bytes.length };
    await bodies.read("uploaded file", { body, caller, id, headers });
  } finally {
    held.release();
  }
}

async function reachFile(
  { files }: Pick<HttpDependencies, "files">,
  { params, caller }: FastifyRequest<FilePath>,
): Promise<UploadedFile> {
  try {
    return await files.find(fileIdOf(params.file_id) ?? params.file_id, caller);
  } catch (error) {
    throw locate(error, { not_found: ["path", "file_id"] });
  }
}
