// A version of a trained model as a tar archive of the files that other programs load.
import type { FastifyInstance } from "fastify";
import { tarByteCount, tarOf } from "../../../../lib/archives/tar-stream.ts";
import { checkpointExportQuerySchema } from "../../../wire/model.ts";
import { locate } from "../../../wire/places.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { sendPieces } from "../../patient-answer.ts";
import { atStep, reachStep, versionParameters } from "../reach.ts";

export function checkpointExportRoute(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, checkpointFiles, settings } = dependencies;
  app.get<{ Params: { model_id: string; step: string } }>(
    "/v1/preview/models/:model_id/checkpoints/:step/export",
    {
      schema: {
        summary: "Export a version as files that other programs load",
        params: versionParameters,
        querystring: checkpointExportQuerySchema,
        response: answered("A tar archive of the files.", { tar: { type: "string", format: "binary" } }),
        tags: ["models"],
        security: [{ bearer: [] }],
      },
    },
    async (request, reply) => {
      const { format } = readQuery(checkpointExportQuerySchema, request, reply);
      const { model, step } = await reachStep(dependencies, request.caller, request.params);
      const version = await models.findVersion(model, step).catch((error: unknown) => {
        throw atStep(error);
      });
      const files = await checkpointFiles.export(model, version, format).catch((error: unknown) => {
        throw locate(error, { unsupported: ["query", "format"], conflict: ["path", "step"] });
      });
      const name = `${model.name.replaceAll(/[^\w.-]/g, "_")}-step${step}-${format}.tar`;
      reply
        .type("application/x-tar")
        .header("content-length", tarByteCount(files))
        .header("content-disposition", `attachment; filename="${name}"`);
      return sendPieces(reply, tarOf(files, version.createdAt), settings);
    },
  );
}
