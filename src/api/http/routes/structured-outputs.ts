// Route that checks a constraint on answers, so that clients can test it before they use it.
import type { FastifyInstance } from "fastify";
import type { BodyReader } from "../bodies/body-reader.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { untilDisconnected } from "../request-lifecycle.ts";
import { abandonedSignal } from "../request-scope.ts";
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
  endpoints(app, { tag: "chat", scheme: "bearer" })(
    "POST /v1/preview/structured-outputs/check",
    {
      summary: "Check whether a constraint can be enforced exactly, and whether it accepts given values",
      body: bodies.form("constraint check", constraintCheckForm),
      answer: "The results for the constraint and for each test.",
      json: constraintCheckSchema,
      fieldPaths: { model: ["body", "model"], instances: ["body", "tests"] },
    },
    async ({ body: { constraint, model, tests }, caller, reply }) => {
      const signal = abandonedSignal(reply);
      const { base } = await directory.resolve(model, caller);
      const options = { instances: tests.map(({ data }) => data), client: caller.entity, signal };
      const checked = checkConstraint(base, constraint, options);
      const answer = await untilDisconnected(checked, signal);
      return constraintCheckBody(answer, tests);
    },
  );
}
