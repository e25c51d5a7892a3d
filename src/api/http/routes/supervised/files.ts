// Routes in OpenAI's form that upload, list, read and delete files with training data.
import { fastifyMultipart } from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import type { UploadedFile } from "../../../../base/domain/uploads/uploaded-file.ts";
import type { ReceivedFile } from "../../../../train/uploads/file-writer.ts";
import { fileAnswer, fileDeletionSchema, fileQuerySchema, uploadSchema } from "../../../wire/files/file.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import type { BodyReader } from "../../bodies/body-reader.ts";
import type { ByteBudget } from "../../bodies/gather-body.ts";
import { readUpload } from "../../bodies/read-upload.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";

/** Body reader for the lines of uploaded files, and the memory budget for their bytes. */
export interface FileReaders {
  readonly bodies: BodyReader;
  readonly budget: ByteBudget;
}

/**
 * Adds the routes and a parser for forms to `app`. `app` must be a separate scope, so that other routes refuse forms.
 */
export async function fileRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): Promise<void> {
  const { files } = dependencies;
  await app.register(fastifyMultipart, { throwFileSizeLimit: false });
  const on = endpoints(app, { tag: "files", scheme: "bearer" });
  const one = { answer: "The file.", json: fileAnswer.schema };
  const find = ({ file_id: id }: { readonly file_id: string }, caller: Caller): Promise<UploadedFile> =>
    files.find(id, caller);
  on(
    "POST /v1/files",
    {
      summary: "Upload a file",
      description:
        "Accepts a file with one conversation or preference per line, as JSON, for training jobs. The server checks each line, and refuses a file with lines that no job could use; the error has their line numbers. The file is on disk before the server answers.",
      documented: { consumes: ["multipart/form-data"], body: uploadSchema },
      ...one,
    },
    async ({ caller: { entity }, request }) => {
      await dependencies.room.require(entity);
      const { received, ...about } = await readUpload(request, files);
      try {
        await checkLines(received, request, files, readers);
        return fileAnswer.body(await files.keep(received, { entity, ...about }));
      } catch (error) {
        await files.discard(received);
        throw error;
      }
    },
  );
  on(
    "GET /v1/files",
    {
      summary: "List files",
      query: fileQuerySchema,
      answer: "A page of files, newest first by default.",
      json: pageSchema(fileAnswer.schema),
    },
    ({ query, caller }) =>
      pageAnswer(files.list(query.purpose ?? null, pageRequest(query, "desc"), caller), fileAnswer.body),
  );
  on("GET /v1/files/:file_id", { summary: "Read a file's metadata", find, ...one }, ({ found }) =>
    fileAnswer.body(found),
  );
  on(
    "GET /v1/files/:file_id/content",
    {
      summary: "Read a file's content",
      find,
      answer: "The file's bytes.",
      bytes: { type: "string", format: "binary" },
    },
    async ({ found: file, reply }) => {
      reply.header("content-length", file.byteCount).type("application/octet-stream");
      // Makes browsers save the file, because they must not display it as a page of this server.
      reply.header("content-disposition", "attachment").header("x-content-type-options", "nosniff");
      return reply.send(await files.read(file));
    },
  );
  on(
    "DELETE /v1/files/:file_id",
    {
      summary: "Delete a file",
      description: "Jobs created from the file keep their training data.",
      find,
      answer: "The id of the deleted file.",
      json: fileDeletionSchema,
    },
    async ({ found: file }) => {
      await files.delete(file);
      return { id: file.id, object: "file", deleted: true };
    },
  );
}

/**
 * Checks the lines of an uploaded file. Until all lines are read, the file's bytes count towards the memory budget, in
 * the same way as the bytes of a request body.
 */
export async function checkLines(
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
