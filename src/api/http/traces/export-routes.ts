// Routes that receive OpenTelemetry traces (OTLP over HTTP), as protobuf or JSON.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  exportAnswer,
  exportAnswerBytes,
  exportAnswerSchema,
  exportBodySchema,
} from "../../wire/otlp/export-answer.ts";
import type { ExportForm } from "../../wire/otlp/read-export.ts";
import { rawBody, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { headerProject, langfuseProject } from "./trace-project.ts";

const protobuf = "application/x-protobuf";

const eitherScheme: readonly Readonly<Record<string, readonly string[]>>[] = [{ bearer: [] }, { basic: [] }];

export function exportRoutes(app: FastifyInstance, dependencies: HttpDependencies, bodies: BodyReader): void {
  const { feedbackBodyBytes: bytesMax } = dependencies.settings;
  const on = endpoints(app, {
    tag: "traces",
    options: { bodyLimit: bytesMax, config: { ...rawBody.config, takesGzip: true } },
  });
  const about = {
    description:
      "Each span becomes a call of the project. All calls are on disk before the server answers. Sending a span again has no effect. The answer names the spans that were left out, in the encoding of the request.",
    answer: "The spans are stored.",
    json: exportAnswerSchema,
    documented: {
      consumes: [protobuf, "application/json"],
      body: exportBodySchema,
      security: eitherScheme,
    },
  };
  const take = async (
    { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
    projectId: string | null,
  ) => {
    const { caller } = request;
    const form: ExportForm = {
      encoding: request.headers["content-type"]?.startsWith(protobuf) === true ? "protobuf" : "json",
      isCompressed: request.headers["content-encoding"]?.toLowerCase() === "gzip",
      bytesMax,
      entity: caller.entity,
      projectId,
    };
    await dependencies.room.require((projectId ?? caller.entity).split("/", 1)[0]);
    const read = await bodies.read("trace export", request, { exportForm: form });
    await dependencies.traces.calls.record(read.calls, null, caller);
    for (const input of read.feedback) await dependencies.feedback.create(input, caller);
    if (form.encoding === "json") return exportAnswer(read);
    return reply.type(protobuf).send(Buffer.from(exportAnswerBytes(read)));
  };
  on("POST /v1/traces", { summary: "Record traces (OTLP)", ...about }, (input) =>
    take(input, headerProject(input.request)),
  );
  on(
    "POST /api/public/otel/v1/traces",
    { summary: "Record traces of Langfuse's libraries (OTLP)", ...about },
    (input) => take(input, langfuseProject(input.request)),
  );
}
