// Routes that create training jobs from feedback, and list the feedback that a version was trained on.
import type { FastifyInstance } from "fastify";
import { present } from "../../../../base/domain/assert.ts";
import { costOf } from "../../../../base/domain/costs/prices.ts";
import type { TrainedModel } from "../../../../base/domain/model.ts";
import { pageAnswer, pageQuerySchema, pageRequest, pageSchema } from "../../../wire/page.ts";
import {
  feedbackPreferencesAnswer,
  feedbackPreferencesForm,
  toPreferenceOrder,
} from "../../../wire/preferences/feedback-preferences.ts";
import { preferenceKeysNotApplied, toPreferenceConfig } from "../../../wire/preferences/preference-config.ts";
import { feedbackJobAnswer, feedbackJobForm } from "../../../wire/rewards/feedback-job.ts";
import { trainingSourceAnswer } from "../../../wire/rewards/training-sources.ts";
import { keysNotApplied, toTrainingConfig } from "../../../wire/training/training-config.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { nameIgnored } from "../../input/read-input.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";
import { reachStep } from "../reach.ts";
import { createJob, readFeedbackSelection } from "./feedback-selection.ts";

export function feedbackJobRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { rewards, models } = dependencies;
  // These requests read stored data, so they take a share of the read budget, like requests for a page of a list.
  const on = endpoints(app, { tag: "training", scheme: "bearer", options: readsPage });
  const costed = <Job extends { readonly counts: { readonly trainedTokens: number } }>(
    job: Job,
    { baseModel }: TrainedModel,
    passCount: number,
  ) => {
    const trainingTokens = job.counts.trainedTokens * passCount;
    return { ...job, ...costOf(dependencies.prices, baseModel, { trainingTokens }) };
  };
  const answer = "The job's id, its training data, and the answers left out.";
  on(
    "POST /v1/preview/training-jobs/from-feedback",
    {
      summary: "Create a training job from feedback",
      description:
        "Trains a model on its recorded answers, with rewards that a rule computes from the feedback on them. Answers to the same prompt form a group. An answer is left out if an earlier job trained on it with the same feedback. With `dry_run` the server only reports what the job would train on. The job is on disk before the server answers, and the header `Idempotency-Key` works as for all jobs.",
      body: feedbackJobForm,
      answer,
      json: feedbackJobAnswer.schema,
    },
    async ({ body: { groupsMax, ...body }, caller, request, reply }) => {
      const config = body.experimentalConfig ?? {};
      const configNotApplied = keysNotApplied(config);
      nameIgnored(
        reply,
        configNotApplied.map((key) => `experimental_config.${key}`),
      );
      const { rule, ...selected } = await readFeedbackSelection(body, caller, dependencies);
      const asked = { ...selected, rule: present(rule, "a rule"), groupsMax };
      const task = { kind: "rl", config: toTrainingConfig(config) } as const;
      const made = await createJob(
        {
          entity: asked.model.entity,
          isDryRun: body.dryRun,
          task,
          configNotApplied,
          preview: () => rewards.preview(asked),
          train: (identity, submit) => rewards.train(asked, identity, submit),
        },
        request,
        dependencies,
      );
      return feedbackJobAnswer.body(costed(made, asked.model, task.config.passCount));
    },
  );
  on(
    "GET /v1/preview/models/:model_id/checkpoints/:step/sources",
    {
      summary: "List the feedback that a version was trained on",
      description:
        "Lists the answers that the version's job trained on, with their rewards and the feedback records that the rewards were computed from. Empty for a version that was not trained on feedback.",
      query: pageQuerySchema,
      answer: "A page of answers, by default in the order of the job's groups.",
      json: pageSchema(trainingSourceAnswer.schema),
    },
    async ({ params, query, caller }) => {
      const { model, step } = await reachStep(dependencies, caller, params);
      const page = rewards.sourcesOf(await models.findVersion(model, step), pageRequest(query, "asc"));
      const projectId = `${model.entity}/${model.project}`;
      return pageAnswer(page, (source) => trainingSourceAnswer.body({ ...source, projectId }));
    },
  );
  on(
    "POST /v1/preview/preference-training-jobs/from-feedback",
    {
      summary: "Create a preference training job from feedback",
      description:
        "Trains a model on preferences between its recorded answers. Two answers to the same prompt are compared by the rewards that a rule computes from their feedback; an answer is also compared with people's corrections of it. With the loss kto, each answer is judged separately. An answer is left out if an earlier job trained on it with the same feedback. With `dry_run` the server only reports what the job would train on. The job is on disk before the server answers, and the header `Idempotency-Key` works as for all jobs.",
      body: feedbackPreferencesForm,
      answer,
      json: feedbackPreferencesAnswer.schema,
    },
    async ({ body: { pairsMax: preferencesMax, ...body }, caller, request, reply }) => {
      const config = body.config ?? {};
      const configNotApplied = preferenceKeysNotApplied(config);
      nameIgnored(
        reply,
        configNotApplied.map((key) => `config.${key}`),
      );
      const { rule, ...selected } = await readFeedbackSelection(body, caller, dependencies);
      const asked = { ...selected, order: toPreferenceOrder(body, rule), preferencesMax };
      const task = { kind: "preference", config: toPreferenceConfig(config) } as const;
      const made = await createJob(
        {
          entity: asked.model.entity,
          isDryRun: body.dryRun,
          task,
          configNotApplied,
          preview: () => rewards.previewPreferences(asked),
          train: (identity, submit) => rewards.trainPreferences(asked, identity, submit),
        },
        request,
        dependencies,
      );
      return feedbackPreferencesAnswer.body(costed(made, asked.model, task.config.epochCount));
    },
  );
}
