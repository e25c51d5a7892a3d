// A PEFT folder, sent as a tar archive, becomes a version of a trained model. Its body goes to disk as it comes, and is the
// only one of the API that is no JSON.
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { checkpointBody, checkpointSchema, importPlaces } from "../../../wire/model.ts";
import { locate } from "../../../wire/places.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { askForBody } from "../../bodies/expected-bodies.ts";
import { refuseEncoding } from "../../framework-errors.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { modelParameters, reachModel } from "../reach.ts";

interface ImportRequest {
  Params: { model_id: string };
  Body: Readable | undefined;
}

const archive = {
  type: "string",
  format: "binary",
  description:
    "A tar archive, gzipped or not, of adapter_config.json and adapter_model.safetensors; other files are ignored.",
} as const;

export async function checkpointImportRoute(
  app: FastifyInstance,
  dependencies: HttpDependencies,
): Promise<void> {
  // In a scope of its own: no other route takes such a body, and this one takes no other.
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("application/x-tar", async (request: FastifyRequest, body: Readable) => {
      refuseEncoding(request.headers["content-encoding"]);
      askForBody(request);
      return body;
    });
    scope.post<ImportRequest>(
      "/v1/preview/models/:model_id/checkpoints",
      {
        schema: {
          summary: "Import an adapter as the next version of a model",
          params: modelParameters,
          consumes: ["application/x-tar"],
          body: { content: { "application/x-tar": { schema: archive } } },
          response: answered("The version, which the model's name stands for from now on.", {
            json: checkpointSchema,
          }),
          tags: ["models"],
          security: [{ bearer: [] }],
        },
        // Before the body is read: what nobody will take is not worth reading.
        preParsing: async (request) => {
          request.model = await reachModel(dependencies, request.caller, request.params.model_id);
        },
      },
      async ({ id: requestId, model, body }, reply) => {
        if (body === undefined || model === null) throw noArchive();
        const { version, ignored } = await dependencies.checkpointFiles
          .import(model, body, { requestId })
          .catch((error: unknown) => {
            throw locate(error, importPlaces);
          });
        nameIgnored(reply, ignored);
        return checkpointBody(version);
      },
    );
  });
}

function noArchive(): ServiceError {
  const message = "The body is empty; send a tar archive of a PEFT folder.";
  return new ServiceError({ code: "invalid", faults: [{ location: ["body"], message, type: "missing" }] });
}
