// Preference jobs of the feedback there is.
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  feedbackPreferencesBody,
  feedbackPreferencesForm,
  feedbackPreferencesSchema,
  toPreferenceOrder,
} from "../../../wire/preferences/feedback-preferences.ts";
import { preferenceKeysNotApplied, toPreferenceConfig } from "../../../wire/preferences/preference-config.ts";
import { locate } from "../../../wire/places.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { nameIgnored } from "../../input/ignored-fields.ts";
import { readBody } from "../../input/read-body.ts";
import { readsPage } from "../../reading/stored-reads.ts";
import { notAppliedWarnings, submittedBefore, submitWith, trainerPlaces } from "../submit-job.ts";
import { readAsked } from "./asked-feedback.ts";

export function feedbackPreferenceRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  app.post(
    "/v1/preview/preference-training-jobs/from-feedback",
    {
      // What it reads counts as a page's.
      ...readsPage,
      schema: {
        summary: "Create a preference training job from feedback",
        description:
          "Trains a model on which of its recorded answers people preferred: answers to the same prompt by the rewards that a rule makes of the feedback on them, and answers by what people corrected them to. With the loss kto each answer is judged by itself. An answer that was trained on the same feedback is left out. With `dry_run` it says what it would train on. The job is on disk when it is answered, and the header `Idempotency-Key` works as for any job.",
        tags: ["training"],
        security: [{ bearer: [] }],
        body: feedbackPreferencesForm.schema,
        response: answered("The job's id, and what it trains on and what not.", {
          json: feedbackPreferencesSchema,
        }),
      },
    },
    (request, reply) => create(request, reply, dependencies),
  );
}

async function create(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<object> {
  const body = readBody(feedbackPreferencesForm, request, reply);
  const config = body.config ?? {};
  const configNotApplied = preferenceKeysNotApplied(config);
  nameIgnored(
    reply,
    configNotApplied.map((key) => `config.${key}`),
  );
  const { rule, ...selected } = await readAsked(body, request, dependencies);
  const asked = {
    ...selected,
    order: toPreferenceOrder(body, rule),
    preferencesMax: body.pairs_max ?? 2048,
  };
  const { rewards } = dependencies;
  if (body.dry_run === true)
    return feedbackPreferencesBody(await rewards.previewPreferences(asked), { id: null, isDryRun: true });
  const hash = createHash("sha256").update(JSON.stringify(request.body)).digest("hex");
  const earlierId = await submittedBefore(request, dependencies, hash);
  if (earlierId !== null) {
    const outcome = await rewards.previewPreferences(asked);
    return feedbackPreferencesBody(outcome, { id: earlierId, isDryRun: false });
  }
  const task = { kind: "preference", config: toPreferenceConfig(config) } as const;
  const identity = { task, configNotApplied, warnings: notAppliedWarnings(configNotApplied) };
  await dependencies.room.require(asked.model.entity);
  const submit = submitWith(request, dependencies, hash);
  const { id, outcome } = await rewards.trainPreferences(asked, identity, submit).catch((error: unknown) => {
    throw locate(error, trainerPlaces("preference"));
  });
  return feedbackPreferencesBody(outcome, { id, isDryRun: false });
}
