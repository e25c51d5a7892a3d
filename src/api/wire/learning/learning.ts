// API format of a model's learning while it is in use: the settings, and the current state.
import { Type } from "typebox";
import { pathSteps, pathText } from "../../../base/domain/feedback-query/feedback-field.ts";
import { learningFields, type LearningOrder } from "../../../base/domain/learning/learning-order.ts";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import { learningStatuses, type LearningState } from "../../../train/learning/learning-service.ts";
import type { MoreChecks } from "../body.ts";
import { answerOf, creation, creationRows, readBy, shown } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import {
  checkPreferenceConfig,
  preferenceConfigBody,
  preferenceConfigForm,
  preferenceConfigSchema,
  toPreferenceConfig,
} from "../preferences/preference-config.ts";
import {
  checkRewardTerms,
  rewardTermsBody,
  rewardTermsSchema,
  toRewardRule,
} from "../rewards/reward-terms.ts";
import { cycleAnswer } from "./cycle.ts";

const thumbs = toRewardRule([{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }]);

const editsSchema = Type.Object(
  {
    feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description: "Type of the feedback that contains corrected answers.",
      "x-default": "any type",
    }),
    path: nullable(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: "correction",
      description: "Path of the corrected answer in the payload, as in `/feedback/query`.",
    }),
  },
  { title: "LearningEdits" },
);

const judgeSchema = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 512, description: "Name of a model on this server." }),
    rubric: Type.String({
      minLength: 1,
      maxLength: 8000,
      description: "Rubric by which the model judges answers and the user's next messages.",
    }),
  },
  { title: "LearningJudge" },
);

const more: MoreChecks = ({ signals, ratings, edits, judge, config, ...rest }, findings) => {
  checkPreferenceConfig(config, findings);
  checkRewardTerms(ratings, findings, "ratings");
  const path = isObject(edits) ? edits["path"] : null;
  if (typeof path === "string" && pathSteps(path) === null)
    report(findings, "value_error", "path has an index that is larger than any list", "edits", "path");
  const asked = Array.isArray(signals) ? signals : learningFields.signals.default;
  if (asked?.includes("next_message") === true && (judge ?? null) === null)
    report(
      findings,
      "missing",
      "Field required: next messages are judged by a model; name it, and a rubric",
      "judge",
    );
  const { prompts_min: least, prompts_max: most } = rest;
  const [min, max] = [least ?? learningFields.promptsMin.default, most ?? learningFields.promptsMax.default];
  if (typeof min !== "number" || typeof max !== "number" || min <= max) return;
  const message = `prompts_min is ${min} and prompts_max is ${max}; it must not be more`;
  report(findings, "value_error", message, "prompts_min");
};

export const learningForm = creation(
  "LearningSettings",
  {
    ...creationRows(learningFields),
    ratings: readBy(
      nullable(rewardTermsSchema, {
        description: "Terms that compute an answer's reward from ratings, as in a reward rule.",
        "x-default": "reactions, where 👍 is 1 and 👎 is 0",
      }),
      toRewardRule,
      thumbs,
    ),
    edits: readBy(
      nullable(editsSchema, {
        description: "Feedback that contains corrected answers.",
        "x-default": "`correction` in feedback of any type",
      }),
      ({ feedback_type: type, path }) => ({
        feedbackType: type ?? null,
        path: pathSteps(path ?? "correction") ?? [],
      }),
      { feedbackType: null, path: ["correction"] },
    ),
    judge: nullable(judgeSchema, {
      description:
        "Model that judges users' next messages, and the answers of the candidate and the current version to held-out prompts. Null: the two versions are compared by the log-probabilities of held-out answers that people wanted or did not want.",
    }),
    config: readBy(
      nullable(preferenceConfigForm, {
        description: "Settings of the learning jobs, which are preference jobs. The default loss is kto.",
      }),
      (config) => toPreferenceConfig({ ...config, loss: config.loss ?? "kto" }),
      resolvePreferenceConfig({ loss: "kto" }),
    ),
  },
  { more },
);

type Asked = ReturnType<typeof learningForm.to>;

/** Converts checked settings to the domain's form. */
export function toLearningOrder({ judge, promptsMax, ...order }: Asked): LearningOrder {
  return { ...order, judge, promptsMax };
}

const dateTime = Type.String({ format: "date-time" });
const count = (description: string) => orNull(Type.Integer({ minimum: 0 }), { description });
const settingRows = shown(learningFields);

const settingsAnswer = answerOf<LearningOrder>()("LearningSettingsInEffect", {
  ...settingRows,
  ratings: [rewardTermsSchema, ({ ratings }) => rewardTermsBody(ratings)],
  edits: [editsSchema, ({ edits }) => ({ feedback_type: edits.feedbackType, path: pathText(edits.path) })],
  judge: orNull(judgeSchema),
  config: [preferenceConfigSchema, ({ config }) => preferenceConfigBody(config)],
});

export const learningAnswer = answerOf<LearningState>()("Learning", {
  model_id: Type.String({ format: "uuid" }),
  settings: [settingsAnswer.schema, ({ order }) => settingsAnswer.body(order)],
  status: Type.Enum([...learningStatuses], {
    description:
      "`collecting`: there are too few signals (feedback records) or held-out prompts. `waiting`: the last cycle began less than `seconds_between` ago. The other values are stages of the cycle in progress.",
  }),
  explanation: Type.String({ description: "Sentence that explains the status." }),
  new_signals: [
    count(
      "Number of new feedback records for the next job, counted at the server's last check; null before the first check.",
    ),
    ({ signalCount }) => signalCount,
  ],
  held_out_prompts: [
    count(
      "Number of held-out prompts, counted at the server's last check; null while there are not enough signals.",
    ),
    ({ heldOutCount }) => heldOutCount,
  ],
  fault: orNull(Type.String(), {
    description:
      "Sentence that says why the server's last check for new feedback failed; null if it succeeded.",
  }),
  cycle: [
    orNull(cycleAnswer.schema, { description: "Newest cycle; null if there is none." }),
    ({ cycle }) => cycle && cycleAnswer.body(cycle),
  ],
  created_at: dateTime,
  updated_at: dateTime,
});

export const learningDeletionSchema = Type.Object({
  model_id: Type.String({ format: "uuid" }),
  deleted: Type.Boolean(),
});
