// Serves the dashboard at `/`. The dashboard has no special rights: it calls the API with the key of the person who
// signed in.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { sendIfChanged, sendSiteFile, sitePolicy } from "./send-site-file.ts";

const policy = sitePolicy();

const yearSeconds = 31_536_000;

export function pageRoutes(app: FastifyInstance, { page }: Pick<HttpDependencies, "page">): void {
  app.get("/", { schema: { hide: true } }, async (request, reply) => {
    if (isOllamasProbe(request.headers.accept))
      return await reply.type("text/plain").send("Ollama is running");
    const index = (await page()).get("index.html");
    if (index === undefined) {
      const message =
        "The dashboard was not built; run `npm run build`. The API is at /v1, its documentation at /docs.";
      throw new ServiceError({ code: "not_found", message });
    }
    return await sendIfChanged(index, policy, request, reply);
  });
  app.get<{ Params: { name: string } }>(
    "/assets/:name",
    { schema: { hide: true } },
    async (request, reply) => {
      const asset = (await page()).get(`assets/${request.params.name}`);
      if (asset === undefined)
        throw new ServiceError({ code: "not_found", message: "The page has no such file." });
      reply.header("cache-control", `public, max-age=${yearSeconds}, immutable`);
      return await sendSiteFile(asset, request, reply);
    },
  );
}

/**
 * True if a client checks whether an Ollama server runs at this address. Ollama's clients accept only JSON or plain
 * text, but browsers accept HTML, and most other programs accept anything.
 */
function isOllamasProbe(accept: string | undefined): boolean {
  return (
    accept !== undefined && /application\/json|text\/plain/.test(accept) && !/text\/html|\*\/\*/.test(accept)
  );
}
