// Routes in the form of OpenAI's API that run and validate graders.
import type { FastifyInstance } from "fastify";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import { grade } from "../../../../train/graders/grade.ts";
import {
  graderRunAnswerSchema,
  graderRunBody,
  graderRunForm,
  graderValidateForm,
  graderValidationSchema,
} from "../../../wire/fine-tuning/grader-requests.ts";
import { readGrader } from "../../../wire/fine-tuning/read-grader.ts";
import { usedModels } from "../../ask-model.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { requireModels } from "./job-grader.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { abandonedSignal } from "../../request-scope.ts";

export function graderRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { clock } = dependencies;
  const on = endpoints(app, { tag: "fine-tuning", scheme: "bearer" });
  on(
    "POST /v1/fine_tuning/alpha/graders/run",
    {
      summary: "Run a grader",
      description:
        "Grades one answer. An error of the grader is no error of the request: the reward is 0, and `metadata.errors` names the error.",
      body: graderRunForm,
      answer: "The reward.",
      json: graderRunAnswerSchema,
    },
    async ({ body, caller, request, reply }) => {
      const grader = readGrader(body.grader, ["grader"]);
      const signal = abandonedSignal(reply);
      const models = usedModels(dependencies, caller, request.allowance);
      await requireModels(grader, ["grader"], caller, dependencies.directory);
      const startedMs = clock.monotonicMs();
      const sample = { text: body.model_sample, tools: [] };
      // Safe cast: parsed from JSON.
      const item = (body.item ?? {}) as JsonObject;
      const graded = await grade(grader, { item, sample }, { ...models, signal });
      return graderRunBody(grader, graded, clock.monotonicMs() - startedMs);
    },
  );
  on(
    "POST /v1/fine_tuning/alpha/graders/validate",
    {
      summary: "Validate a grader",
      body: graderValidateForm,
      answer: "The grader.",
      json: graderValidationSchema,
    },
    async ({ body }) => ({ grader: readGrader(body.grader, ["grader"]) }),
  );
}
