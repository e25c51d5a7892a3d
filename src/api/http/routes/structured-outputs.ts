// The check of a constraint before any answer is asked for under it.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { readApart, type BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endedFor, mapErrors } from "../request-end.ts";
import { nameIgnored } from "../input/ignored-fields.ts";
import { abandonedSignal } from "../request-scope.ts";
import { locate } from "../../wire/places.ts";
import {
  constraintCheckBody,
  constraintCheckForm,
  constraintCheckSchema,
} from "../../wire/chat/constraint-check.ts";

export function structuredOutputRoutes(
  app: FastifyInstance,
  { checkConstraint, directory }: HttpDependencies,
  bodies: BodyReader,
): void {
  const schema = {
    summary: "Say whether a constraint is served exactly, and whether values could be an answer",
    tags: ["chat"],
    security: [{ bearer: [] }],
    body: constraintCheckForm.schema,
    response: answered("What there is to say of it.", { json: constraintCheckSchema }),
  };
  app.post(
    "/v1/preview/structured-outputs/check",
    { ...readApart, schema },
    async (request: FastifyRequest, reply) => {
      const { constraint, model, tests, ignored } = await bodies.read("constraint check", request);
      nameIgnored(reply, ignored);
      const signal = abandonedSignal(reply);
      const { base } = await mapErrors(directory.resolve(model, request.caller), (error) =>
        locate(error, { model: ["body", "model"] }),
      );
      const instances = tests.map(({ data }) => data);
      const options = { instances, client: request.caller.entity, signal };
      const checked = checkConstraint(base, constraint, options);
      const answer = await mapErrors(checked, (error) =>
        locate(endedFor(error, signal), { instances: ["body", "tests"] }),
      );
      return constraintCheckBody(answer, tests);
    },
  );
}
