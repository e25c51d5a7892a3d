// Routes that turn the learning of a model on and off, and show what the model learned and from whom.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import { cycleAnswer } from "../../../wire/learning/cycle.ts";
import {
  learningAnswer,
  learningDeletionSchema,
  learningForm,
  toLearningOrder,
} from "../../../wire/learning/learning.ts";
import { pageAnswer, pageQuerySchema, pageRequest, pageSchema } from "../../../wire/page.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";
import { reachModel } from "../reach.ts";

export function learningRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { learning } = dependencies;
  const on = endpoints(app, {
    tag: "training",
    scheme: "bearer",
    fieldPaths: { "judge.model": ["body", "judge", "model"] },
  });
  const find = ({ model_id: id }: { readonly model_id: string }, caller: Caller) =>
    reachModel(dependencies, caller, id);
  const one = { find, answer: "The settings and the state.", json: learningAnswer.schema };
  on(
    "GET /v1/preview/models/:model_id/learning",
    { summary: "Show the learning of a model", description: "404 if learning is off.", ...one },
    async ({ found }) => learningAnswer.body(await learning.find(found)),
  );
  on(
    "PUT /v1/preview/models/:model_id/learning",
    {
      summary: "Turn on the learning of a model",
      description:
        "The model learns from feedback on its answers while it is used. When there are enough new signals, a job makes a candidate version. The candidate becomes the newest version only if it is not worse than the current version on held-out prompts. The request replaces all settings. A learning cycle in progress keeps the settings that it began with.",
      body: learningForm,
      ...one,
    },
    async ({ found, body, caller }) =>
      learningAnswer.body(await learning.turnOn(found, toLearningOrder(body), caller)),
  );
  on(
    "DELETE /v1/preview/models/:model_id/learning",
    {
      summary: "Turn off the learning of a model",
      description:
        "A learning job in progress is cancelled, and a candidate that is not promoted yet is refused. Versions and earlier cycles are kept.",
      find,
      answer: "Learning is off.",
      json: learningDeletionSchema,
    },
    async ({ found }) => {
      await learning.turnOff(found);
      return { model_id: found.id, deleted: true };
    },
  );
  on(
    "GET /v1/preview/models/:model_id/learning/cycles",
    {
      summary: "List the learning cycles of a model",
      description:
        "Shows who gave the signals that the model learned from, how each candidate was evaluated, and the decision.",
      find,
      query: pageQuerySchema,
      answer: "A page of cycles, newest first by default.",
      json: pageSchema(cycleAnswer.schema),
      options: readsPage,
    },
    async ({ found, query }) =>
      pageAnswer(learning.cycles(found, pageRequest(query, "desc")), cycleAnswer.body),
  );
}
