// Whose key a request came with: what a client shows to the person who gave it one.
import type { FastifyInstance } from "fastify";
import { callerBody, callerSchema } from "../../../wire/keys/own-key.ts";
import { answered } from "../../documentation/document-routes.ts";

export function ownKeyRoute(app: FastifyInstance): void {
  app.get(
    "/v1/preview/key",
    {
      schema: {
        summary: "Say whose key this is",
        response: answered("The key that the request came with, without its secret.", { json: callerSchema }),
        tags: ["health"],
        security: [{ bearer: [] }],
      },
    },
    ({ caller }) => callerBody(caller),
  );
}
