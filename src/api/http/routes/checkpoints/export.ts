// Route that exports a version of a trained model as a tar archive, whose files other programs can read.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { tarByteCount, tarOf } from "../../../../lib/archives/tar-stream.ts";
import { checkpointExportQuerySchema, quantizations } from "../../../wire/models/model.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { sendPieces } from "../../paced-answer.ts";
import { reachStep } from "../reach.ts";

export function checkpointExportRoute(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { models, checkpointFiles, settings } = dependencies;
  endpoints(app, { tag: "models", scheme: "bearer" })(
    "GET /v1/preview/models/:model_id/checkpoints/:step/export",
    {
      summary: "Export a version as files for other programs",
      query: checkpointExportQuerySchema,
      answer: "A tar archive of the files.",
      tar: { type: "string", format: "binary" },
      fieldPaths: { unsupported: ["query", "format"], conflict: ["path", "step"] },
    },
    async ({ params, query: { format, quantize = null }, caller, reply }) => {
      if (quantize !== null && format !== "gguf") throw quantizedOnlyInGguf(format);
      const { model, step } = await reachStep(dependencies, caller, params);
      const version = await models.findVersion(model, step);
      const files = await checkpointFiles.export(model, version, {
        format,
        chosenType: quantize === null ? null : quantizations[quantize],
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

function quantizedOnlyInGguf(format: string): ServiceError {
  const message = `The format is ${format}, and quantize applies only to gguf; leave it out, or choose that format.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["query", "quantize"], message, type: "value_error" }],
  });
}
