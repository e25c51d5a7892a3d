// Routes that create, list, read, finish and cancel rollouts.
import type { FastifyInstance } from "fastify";
import { hashSecret, type Caller } from "../../../../base/domain/access.ts";
import { newRolloutSecret } from "../../../../access/keys/key-secret.ts";
import { fullName } from "../../../../inference/models/registry/model-name.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import { rolloutDetailAnswer, rolloutTrajectoriesAnswer } from "../../../wire/rollouts/rollout-detail.ts";
import {
  createdRolloutAnswer,
  rolloutAnswer,
  rolloutCreateForm,
  rolloutFinishForm,
  rolloutQuerySchema,
} from "../../../wire/rollouts/rollout.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { originOf } from "../../input/origin.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";
import { reachModel } from "../reach.ts";

export function rolloutRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { rollouts } = dependencies;
  const on = endpoints(app, {
    tag: "rollouts",
    scheme: "bearer",
    fieldPaths: { callRewards: ["body", "call_rewards"] },
  });
  const find = ({ model_id: id }: { readonly model_id: string }, caller: Caller) =>
    reachModel(dependencies, caller, id);
  const one = { find, answer: "The rollout.", json: rolloutAnswer.schema };
  on(
    "POST /v1/preview/models/:model_id/rollouts",
    {
      summary: "Create a rollout",
      description:
        "A rollout is one attempt of an agent at a task. Every call of any API with the rollout's key, or below its base URL, belongs to the rollout. Hone records the call with its exact tokens. The guide [rollouts.md](../guides/rollouts.md) shows how an unmodified agent is trained.",
      find,
      body: rolloutCreateForm,
      answer: "The rollout with its key, which no other answer contains.",
      json: createdRolloutAnswer.schema,
    },
    async ({ found: model, body, caller, request }) => {
      const { expires: expiresSeconds, followNewVersions: followsVersions, ...about } = body;
      const apiKey = newRolloutSecret();
      const secretHash = hashSecret(apiKey);
      const asked = { ...about, expiresSeconds, followsVersions, secretHash };
      const rollout = await rollouts.create(model, asked, caller);
      const anthropicBaseUrl = `${originOf(request)}/v1/preview/models/${model.id}/rollouts/${rollout.id}`;
      return createdRolloutAnswer.body({
        ...rollout,
        model: fullName(model),
        apiKey,
        baseUrl: `${anthropicBaseUrl}/v1`,
        anthropicBaseUrl,
      });
    },
  );
  on(
    "GET /v1/preview/models/:model_id/rollouts",
    {
      summary: "List the rollouts of a model",
      find,
      query: rolloutQuerySchema,
      answer: "A page of rollouts, newest first by default.",
      json: pageSchema(rolloutAnswer.schema),
      options: readsPage,
    },
    ({ found: model, query }) => {
      const { state = null, group = null, split = null, version: step = null } = query;
      const filter = { modelId: model.id, state, group, split, step };
      return pageAnswer(rollouts.list(filter, pageRequest(query, "desc")), rolloutAnswer.body);
    },
  );
  on(
    "GET /v1/preview/models/:model_id/rollouts/:rollout_id",
    {
      summary: "Read a rollout with its calls",
      description:
        "Returns the rollout, its calls, and the sequences to which the calls are linked by their tokens. `GET /v1/chat/completions/{request_id}` returns the tokens of a call.",
      find,
      answer: "The rollout with its calls and sequences.",
      json: rolloutDetailAnswer.schema,
      options: readsPage,
    },
    async ({ found: model, params }) => {
      const rollout = await rollouts.find(model, params.rollout_id);
      return rolloutDetailAnswer.body({ ...rollout, linked: await rollouts.read(rollout) });
    },
  );
  on(
    "GET /v1/preview/models/:model_id/rollouts/:rollout_id/trajectories",
    {
      summary: "Read a rollout's trajectories",
      description:
        "Returns the calls of the rollout with their tokens, in the form in which a training job takes them. Unless the rollout is finished, the reward is 0.",
      find,
      answer: "The trajectories.",
      json: rolloutTrajectoriesAnswer.schema,
      options: readsPage,
    },
    async ({ found: model, params }) => {
      const rollout = await rollouts.find(model, params.rollout_id);
      return rolloutTrajectoriesAnswer.body(await rollouts.trajectories(rollout));
    },
  );
  on(
    "POST /v1/preview/models/:model_id/rollouts/:rollout_id/finish",
    {
      ...one,
      summary: "Finish a rollout",
      description:
        "Ends the rollout with its reward. The rollout's own key cannot do this, so that an agent cannot set its own reward. If you finish a rollout again with the same body, you get the same answer; another body is a conflict.",
      body: rolloutFinishForm,
    },
    async ({ found: model, params, body }) =>
      rolloutAnswer.body(await rollouts.finish(model, params.rollout_id, body)),
  );
  on(
    "POST /v1/preview/models/:model_id/rollouts/:rollout_id/cancel",
    {
      ...one,
      summary: "Cancel a rollout",
      description: "Ends the rollout without a reward. No job trains on it. Its calls stay recorded.",
    },
    async ({ found: model, params }) => rolloutAnswer.body(await rollouts.cancel(model, params.rollout_id)),
  );
}
