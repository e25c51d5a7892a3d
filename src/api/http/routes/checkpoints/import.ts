// Route that imports a PEFT folder, sent as a tar archive, as a version of a trained model. The body is written to disk
// as it arrives. It is the only body in the API that is neither JSON nor a form.
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { checkpointAnswer, importPaths } from "../../../wire/models/model.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { askForBody } from "../../bodies/body-reader.ts";
import { refuseEncoding } from "../../framework-errors.ts";
import { nameIgnored } from "../../input/read-input.ts";
import { reachModel } from "../reach.ts";

const archiveSchema = {
  type: "string",
  format: "binary",
  description:
    "A tar archive, optionally gzipped, with the files adapter_config.json and adapter_model.safetensors. Other files are ignored.",
} as const;

export async function checkpointImportRoute(
  app: FastifyInstance,
  dependencies: HttpDependencies,
): Promise<void> {
  // This route is in a Fastify scope of its own, because only here a body may be a tar archive, and any other content
  // type is refused.
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("application/x-tar", async (request: FastifyRequest, body: Readable) => {
      refuseEncoding(request.headers["content-encoding"]);
      askForBody(request);
      return body;
    });
    endpoints(scope, { tag: "models", scheme: "bearer" })(
      "POST /v1/preview/models/:model_id/checkpoints",
      {
        summary: "Import an adapter as the next version of a model",
        description:
          "Accepts LoRA adapters in PEFT's format, from any program. Requests can use the version immediately.",
        documented: {
          consumes: ["application/x-tar"],
          body: { content: { "application/x-tar": { schema: archiveSchema } } },
        },
        answer: "The new version, which the model's name now stands for.",
        json: checkpointAnswer.schema,
        fieldPaths: importPaths,
        // Finds the model first, so that the server does not read the body of a request that it refuses.
        options: {
          preParsing: async (request) => {
            // Safe cast: the route's path has this parameter.
            const { model_id: id } = request.params as { readonly model_id: string };
            request.model = await reachModel(dependencies, request.caller, id);
          },
        },
      },
      async ({ request: { id: requestId, model, body }, reply }) => {
        if (body === undefined || model === null) throw noArchive();
        // Safe cast: the content-type parser above returns the archive's stream.
        const archive = body as Readable;
        const { version, ignored } = await dependencies.checkpointFiles.import(model, archive, { requestId });
        nameIgnored(reply, ignored);
        return checkpointAnswer.body(version);
      },
    );
  });
}

function noArchive(): ServiceError {
  const message = "The body is empty; send a tar archive of a PEFT folder.";
  return new ServiceError({ code: "invalid", faults: [{ location: ["body"], message, type: "missing" }] });
}
