// Routes that publish the files of traces, which clients send as forms, and return the files' bytes.
import { fastifyMultipart } from "@fastify/multipart";
import type { FastifyInstance } from "fastify";
import { reachOf } from "../../../base/domain/access.ts";
import { present } from "../../../base/domain/assert.ts";
import type { Fault } from "../../../base/domain/service-error.ts";
import { fileContentForm, fileCreateSchema, textFieldFaults } from "../../wire/weave/files.ts";
import { digestAnswerSchema } from "../../wire/weave/objects.ts";
import { missingFile, receiveForm, type ReceivedForm } from "../bodies/receive-form.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { weaveEndpoints } from "./weave-endpoints.ts";

/**
 * Adds the routes and a parser for forms to `app`. `app` must be a separate scope, so that other routes refuse forms.
 */
export async function tracedFileRoutes(
  app: FastifyInstance,
  { traces, room }: HttpDependencies,
): Promise<void> {
  await app.register(fastifyMultipart, { throwFileSizeLimit: false });
  const on = weaveEndpoints(app);
  for (const [path, summary] of [
    ["/file/create", "Publish a file"],
    ["/files/create", "Publish a file (alias of /file/create)"],
  ] as const) {
    on(
      `POST ${path}`,
      {
        summary,
        description:
          "The file is on disk before the server answers. Publishing the same bytes again has no effect.",
        documented: { consumes: ["multipart/form-data"], body: fileCreateSchema },
        answer: "The file's digest.",
        json: digestAnswerSchema,
        fieldPaths: { expected_digest: ["body", "expected_digest"] },
      },
      async ({ caller, request }) => {
        const { file, fields } = await receiveForm(request, traces.files, {
          fileField: "file",
          faultsIn: formFaults,
        });
        const { received } = present(file, "the file of a checked form");
        const about = {
          projectId: String(fields.get("project_id")),
          expectedDigest: fields.has("expected_digest") ? String(fields.get("expected_digest")) : null,
        };
        try {
          await room.require(reachOf(caller)?.entity ?? about.projectId.split("/", 1)[0] ?? "");
          const { digest } = await traces.files.keep(received, about, caller);
          return { digest };
        } catch (error) {
          await traces.files.discard(received);
          throw error;
        }
      },
    );
  }
  on(
    "POST /file/content",
    {
      summary: "Read a published file",
      body: fileContentForm,
      answer: "The file's bytes.",
      bytes: { type: "string", format: "binary" },
    },
    async ({ body: { project_id: projectId, digest }, caller, reply }) => {
      const { byteCount, content } = await traces.files.read(projectId, digest, caller);
      reply.header("content-length", byteCount).type("application/octet-stream");
      reply.header("content-disposition", "attachment").header("x-content-type-options", "nosniff");
      return content;
    },
  );
}

function formFaults({ file, fields }: ReceivedForm<unknown>): readonly Fault[] {
  return [...textFieldFaults(fields), ...(file === null ? [missingFile("file")] : [])];
}
