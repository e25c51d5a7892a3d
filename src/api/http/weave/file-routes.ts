// Files of traces: publishing them as forms, and reading their bytes.
import { fastifyMultipart } from "@fastify/multipart";
import type { FastifyInstance } from "fastify";
import { reachOf } from "../../../base/domain/access.ts";
import { present } from "../../../base/domain/assert.ts";
import type { Fault } from "../../../base/domain/service-error.ts";
import { fileContentForm, fileCreateSchema, textFieldFaults } from "../../wire/weave/files.ts";
import { digestAnswerSchema } from "../../wire/weave/objects.ts";
import { missingFile, receiveForm, type ReceivedForm } from "../bodies/receive-form.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { readBody } from "../input/read-body.ts";
import { documented, inBody } from "./weave-route.ts";

/** Forms are read here alone: elsewhere a body of that type is refused. */
export async function tracedFileRoutes(
  app: FastifyInstance,
  { traces, room }: HttpDependencies,
): Promise<void> {
  await app.register(fastifyMultipart, { throwFileSizeLimit: false });
  for (const path of ["/file/create", "/files/create"]) {
    app.post(
      path,
      {
        schema: documented({
          summary:
            path === "/file/create" ? "Publish a file" : "Publish a file, by another name of the route",
          description: "It is on disk when it is answered. The same bytes again add nothing.",
          consumes: ["multipart/form-data"],
          body: fileCreateSchema,
          response: answered("What names it.", { json: digestAnswerSchema }),
        }),
      },
      async (request) => {
        const { file, fields } = await receiveForm(request, traces.files, formFaults);
        const { received } = present(file, "the file of a checked form");
        const about = {
          projectId: String(fields.get("project_id")),
          expectedDigest: fields.has("expected_digest") ? String(fields.get("expected_digest")) : null,
        };
        try {
          await room.require(reachOf(request.caller)?.entity ?? about.projectId.split("/", 1)[0] ?? "");
          const { digest } = await traces.files.keep(received, about, request.caller);
          return { digest };
        } catch (error) {
          await traces.files.discard(received);
          return inBody()(error);
        }
      },
    );
  }
  app.post(
    "/file/content",
    {
      schema: documented({
        summary: "Read a published file",
        body: fileContentForm.schema,
        response: answered("Its bytes.", { bytes: { type: "string", format: "binary" } }),
      }),
    },
    async (request, reply) => {
      const { project_id: projectId, digest } = readBody(fileContentForm, request, reply);
      const { byteCount, content } = await traces.files
        .read(projectId, digest, request.caller)
        .catch(inBody());
      reply.header("content-length", byteCount).type("application/octet-stream");
      // No browser is to show it as a page of this server.
      reply.header("content-disposition", "attachment").header("x-content-type-options", "nosniff");
      return content;
    },
  );
}

function formFaults({ file, fields }: ReceivedForm<unknown>): readonly Fault[] {
  return [...textFieldFaults(fields), ...(file === null ? [missingFile()] : [])];
}
