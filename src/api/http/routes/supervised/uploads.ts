// Routes in OpenAI's form that upload a file in parts: create, add a part, complete, cancel.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import { present } from "../../../../base/domain/assert.ts";
import type { Fault } from "../../../../base/domain/service-error.ts";
import type { Upload, UploadPart } from "../../../../base/domain/uploads/upload.ts";
import {
  partAnswer,
  partSchema,
  uploadBody,
  uploadCompletionForm,
  uploadCreationForm,
  uploadSchema,
} from "../../../wire/files/upload.ts";
import { missingFile, receiveForm } from "../../bodies/receive-form.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { checkLines, type FileReaders } from "./files.ts";

export function uploadRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  readers: FileReaders,
): void {
  const { files, room } = dependencies;
  const on = endpoints(app, { tag: "files", scheme: "bearer" });
  const find = reachUpload(dependencies);
  const one = { answer: "The upload.", json: uploadSchema };
  on(
    "POST /v1/uploads",
    {
      summary: "Create an upload",
      description:
        "Begins an upload of a file in parts, as in OpenAI's API. It expires after an hour. An entity has at most 100 pending uploads.",
      body: uploadCreationForm(files.parts.bytesMax),
      ...one,
    },
    async ({ body: { filename: name, purpose, bytes: byteCount }, caller: { entity } }) => {
      await room.require(entity);
      const upload = await files.parts.create({ entity, name, purpose, byteCount });
      return uploadBody(upload, "pending", null);
    },
  );
  on(
    "POST /v1/uploads/:upload_id/complete",
    {
      summary: "Complete an upload",
      description:
        "Joins parts to a file, which is checked like a file of `POST /v1/files`. Together, the parts must have the number of bytes that was announced in `bytes`. If the file is refused, the upload stays pending.",
      find,
      body: uploadCompletionForm,
      fieldPaths: { partIds: ["body", "part_ids"] },
      ...one,
    },
    async ({ found: upload, body, request }) => {
      const joined = await files.parts.join(upload, body.part_ids, body.md5 ?? null);
      try {
        await checkLines(joined, request, files, readers);
        return uploadBody(upload, "completed", await files.parts.complete(upload, joined));
      } catch (error) {
        await files.discard(joined);
        throw error;
      }
    },
  );
  on(
    "POST /v1/uploads/:upload_id/cancel",
    { summary: "Cancel an upload", description: "Deletes its parts.", find, ...one },
    async ({ found: upload }) => {
      await files.parts.cancel(upload);
      return uploadBody(upload, "cancelled", null);
    },
  );
}

/** Adds the route that takes a part. `app` must be the scope of {@link fileRoutes}, which reads forms. */
export function uploadPartRoute(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { parts } = dependencies.files;
  endpoints(app, { tag: "files", scheme: "bearer" })(
    "POST /v1/uploads/:upload_id/parts",
    {
      summary: "Add a part to an upload",
      description: "The part is on disk before the server answers. Parts can be sent at the same time.",
      find: reachUpload(dependencies),
      documented: { consumes: ["multipart/form-data"], body: partSchema },
      answer: "The part.",
      json: partAnswer.schema,
    },
    async ({ found: upload, request }) => {
      await dependencies.room.require(upload.entity);
      const taker = {
        receive: (content: AsyncIterable<Uint8Array>) => parts.receive(upload, content),
        discard: (part: UploadPart) => parts.discard(upload, part),
      };
      const { file } = await receiveForm(request, taker, {
        fileField: "data",
        faultsIn: ({ file: sent }) =>
          sent === null ? [missingFile("data")] : sent.received.byteCount === 0 ? [emptyPart] : [],
      });
      const part = await parts.keep(upload, present(file, "the part of a checked form").received);
      return partAnswer.body({ ...part, uploadId: upload.id });
    },
  );
}

const emptyPart: Fault = {
  location: ["body", "data"],
  message: "The part is empty; send at least one byte.",
  type: "value_error",
};

function reachUpload({ files }: Pick<HttpDependencies, "files">) {
  return ({ upload_id: id }: { readonly upload_id: string }, caller: Caller): Promise<Upload> =>
    files.parts.find(id.toLowerCase(), caller);
}
