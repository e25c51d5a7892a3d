// Routes of the Tinker API that download saved weights file by file. Clients ask for links with their key, and load the
// files from the links without it.
import type { FastifyInstance } from "fastify";
import { notFound } from "../../../base/domain/service-error.ts";
import { externalUrlsSchema } from "../../wire/tinker/run-bodies.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { HttpRefusal } from "../errors.ts";
import { originOf } from "../input/origin.ts";
import { sendPieces } from "../paced-answer.ts";
import type { GuardCounts } from "../request-scope.ts";
import { onResponseEnd } from "../request-lifecycle.ts";
import type { DownloadLinks } from "./download-links.ts";
import { findSaved, type CheckpointParameters } from "./find-saved.ts";
import { tinkerEndpoints } from "./tinker-endpoints.ts";

export function downloadRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  links: DownloadLinks,
): void {
  const { checkpointFiles, sessions } = dependencies;
  tinkerEndpoints(app)(
    "GET /api/v1/training_runs/:run_id/checkpoints/:kind/:checkpoint/external_weights_urls",
    {
      summary: "Find the files of saved weights",
      description: "The links need no credentials and work for an hour.",
      find: (params: CheckpointParameters, caller) => findSaved(sessions.saved, params, caller),
      answer: "A link for each file of the adapter in the PEFT layout.",
      json: externalUrlsSchema,
    },
    async ({ found: { model, version, path }, caller, request }) => {
      const files = await checkpointFiles.export(model, version, { format: "peft" });
      const { secret, expiresAt } = links.add(caller, path);
      const urlOf = (name: string): string =>
        `${originOf(request)}/api/v1/external_weights/${secret}/${name}`;
      return {
        urls: Object.fromEntries(files.map(({ name }) => [name, urlOf(name)])),
        expires: expiresAt.toISOString(),
      };
    },
  );
}

/** Adds the route of the links. It takes no API key, so it must be outside of the routes that require one. */
export function linkedFileRoute(
  app: FastifyInstance,
  { checkpointFiles, sessions, settings }: HttpDependencies,
  links: DownloadLinks,
  { failedLogins, connections }: Pick<GuardCounts, "failedLogins" | "connections">,
): void {
  endpoints(app, { tag: "tinker" })(
    "GET /api/v1/external_weights/:link_secret/:file_name",
    {
      summary: "Download a file of saved weights",
      description: "The secret in the link is the only credential.",
      answer: "The file.",
      bytes: { type: "string", format: "binary" },
    },
    async ({ params: { link_secret: secret, file_name: name }, request, reply }) => {
      const link = links.find(secret);
      if (link === null) {
        failedLogins.count({ address: request.ip, requestId: request.id });
        throw wrongLink();
      }
      const { model, version } = await sessions.saved.find(link.path, link.caller);
      const files = await checkpointFiles.export(model, version, { format: "peft" });
      const file = files.find((each) => each.name === name);
      if (file === undefined) throw notFound("file", name);
      onResponseEnd(reply.raw, connections.enter(request.raw.socket, link.caller.entity));
      reply.type("application/octet-stream").header("content-length", file.byteCount);
      return sendPieces(reply, file.pieces(), settings);
    },
  );
}

function wrongLink(): HttpRefusal {
  const message = "The link is wrong or has expired; ask for new links of the saved weights.";
  return new HttpRefusal({
    status: 401,
    code: "unauthorized",
    faults: [{ location: ["path", "link_secret"], message, type: "unauthorized" }],
  });
}
