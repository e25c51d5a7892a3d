// The guide for people at `/guide`: the pages of docs/ as a static site with search. It needs no key and no network.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { sendIfChanged } from "../cors/page-routes.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Only the guide's own files. The search runs a WebAssembly module, which needs `wasm-unsafe-eval`. */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function guideRoutes(app: FastifyInstance, { guide }: Pick<HttpDependencies, "guide">): void {
  app.get("/guide", { schema: { hide: true } }, (_request, reply) => reply.redirect("/guide/", 308));
  app.get<{ Params: { "*": string } }>("/guide/*", { schema: { hide: true } }, async (request, reply) => {
    const path = request.params["*"];
    const file = await guide.read(path === "" ? "index.html" : path);
    if (file === null)
      throw new ServiceError({
        code: "not_found",
        message: guide.isBuilt()
          ? "The guide has no such page; /guide/ lists all."
          : "The guide was not built. `npm run build` builds it; the pages are in the folder docs.",
      });
    return await sendIfChanged(file, policy, request, reply);
  });
}
