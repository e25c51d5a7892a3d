// Serves the guide at `/guide`: the pages of docs/ as a static site with search. The guide needs no key and no network.
import type { FastifyInstance } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { sendIfChanged, sitePolicy } from "./send-site-file.ts";

/** Content security policy that allows WebAssembly, which the guide's search uses. */
const policy = sitePolicy("'wasm-unsafe-eval'");

export function guideRoutes(app: FastifyInstance, { guide }: Pick<HttpDependencies, "guide">): void {
  app.get("/guide", { schema: { hide: true } }, (_request, reply) => reply.redirect("/guide/", 308));
  app.get<{ Params: { "*": string } }>("/guide/*", { schema: { hide: true } }, async (request, reply) => {
    const files = await guide();
    const path = request.params["*"];
    const file = files.get(path === "" ? "index.html" : path);
    if (file === undefined)
      throw new ServiceError({
        code: "not_found",
        message:
          files.size > 0
            ? "The guide has no such page; /guide/ lists all."
            : "The guide was not built. `npm run build` builds it; the pages are in the folder docs.",
      });
    return await sendIfChanged(file, policy, request, reply);
  });
}
