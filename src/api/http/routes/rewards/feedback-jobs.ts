// Training jobs of the feedback there is, and the feedback behind a version.
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { present } from "../../../../base/domain/assert.ts";
import { pageAnswer, pageQuerySchema, pageRequest } from "../../../wire/page.ts";
import { locate } from "../../../wire/places.ts";
import { feedbackJobBody, feedbackJobForm, feedbackJobSchema } from "../../../wire/rewards/feedback-job.ts";
import { trainingSourceBody, trainingSourcePageSchema } from "../../../wire/rewards/training-sources.ts";
import { keysNotApplied, toTrainingConfig } from "../../../wire/training/training-config.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { readQuery } from "../../input/query.ts";
import { readBody } from "../../input/read-body.ts";
import { readsPage } from "../../reading/stored-reads.ts";
import { atStep, reachStep, versionParameters } from "../reach.ts";
import { notAppliedWarnings, submittedBefore, submitWith, trainerPlaces } from "../submit-job.ts";
import { readAsked } from "./asked-feedback.ts";

const documented = { tags: ["training"], security: [{ bearer: [] }] };

export function feedbackJobRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { rewards, models } = dependencies;
  app.post(
    "/v1/preview/training-jobs/from-feedback",
    {
      // What it reads counts as a page's.
      ...readsPage,
      schema: {
        summary: "Create a training job from feedback",
        description:
          "Trains a model on its recorded answers, with rewards that a rule makes of the feedback on them. Answers to the same prompt are a group; an answer that was trained on the same feedback is left out. With `dry_run` it says what it would train on. The job is on disk when it is answered, and the header `Idempotency-Key` works as for any job.",
        body: feedbackJobForm.schema,
        response: answered("The job's id, and what it trains on and what not.", { json: feedbackJobSchema }),
        ...documented,
      },
    },
    (request, reply) => create(request, reply, dependencies),
  );
  app.get<{ Params: { model_id: string; step: string } }>(
    "/v1/preview/models/:model_id/checkpoints/:step/sources",
    {
      ...readsPage,
      schema: {
        summary: "List the feedback behind a version",
        description:
          "The answers that its job trained on, with their rewards and the records these were made of; none of a version that does not come from feedback.",
        params: versionParameters,
        querystring: pageQuerySchema,
        response: answered("A page of them, in the order of the job's groups unless asked.", {
          json: trainingSourcePageSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(pageQuerySchema, request, reply);
      const { model, step } = await reachStep(dependencies, request.caller, request.params);
      const version = await models.findVersion(model, step).catch((error: unknown) => {
        throw atStep(error);
      });
      const page = rewards.sourcesOf(version, pageRequest(query, "asc"));
      return pageAnswer(page, trainingSourceBody(`${model.entity}/${model.project}`));
    },
  );
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<object> {
  const body = readBody(feedbackJobForm, request, reply);
  const config = body.experimental_config ?? {};
  const configNotApplied = keysNotApplied(config);
  nameIgnored(
    reply,
    configNotApplied.map((key) => `experimental_config.${key}`),
  );
  const { rule, ...selected } = await readAsked(body, request, dependencies);
  const asked = { ...selected, rule: present(rule, "a rule"), groupsMax: body.groups_max ?? 512 };
  const { rewards } = dependencies;
  if (body.dry_run === true)
    return feedbackJobBody(await rewards.preview(asked), { id: null, isDryRun: true });
  const hash = createHash("sha256").update(JSON.stringify(request.body)).digest("hex");
  const earlierId = await submittedBefore(request, dependencies, hash);
  if (earlierId !== null)
    return feedbackJobBody(await rewards.preview(asked), { id: earlierId, isDryRun: false });
  const task = { kind: "rl", config: toTrainingConfig(config) } as const;
  const identity = { task, configNotApplied, warnings: notAppliedWarnings(configNotApplied) };
  await dependencies.room.require(asked.model.entity);
  const submit = submitWith(request, dependencies, hash);
  const { id, outcome } = await rewards.train(asked, identity, submit).catch((error: unknown) => {
    throw locate(error, trainerPlaces("rl"));
  });
  return feedbackJobBody(outcome, { id, isDryRun: false });
}
