// Route that describes the key of the request, so that a client can show the user which key it uses.
import type { FastifyInstance } from "fastify";
import { callerAnswer } from "../../../wire/keys/own-key.ts";
import { endpoints } from "../../endpoints/endpoint.ts";

export function ownKeyRoute(app: FastifyInstance): void {
  endpoints(app, { tag: "health", scheme: "bearer" })(
    "GET /v1/preview/key",
    {
      summary: "Read the key that this request uses",
      answer: "The key that the request uses, without its secret.",
      json: callerAnswer.schema,
    },
    ({ caller }) => callerAnswer.body(caller),
  );
}
