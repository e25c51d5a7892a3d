// API format of preference jobs made from feedback: the request, the preferences found, and the answers left out.
import { Type } from "typebox";
import { pathSteps } from "../../../base/domain/feedback-query/feedback-field.ts";
import { integer, number } from "../../../base/domain/resources/fields.ts";
import type { Cost } from "../../../base/domain/costs/prices.ts";
import type { PreferenceOrder } from "../../../base/domain/rewards/preference-order.ts";
import type { ComparedAnswer, PreferenceOutcome } from "../../../base/domain/rewards/preference-outcome.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { answerOf, creationRows, creation, type ReadValues } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import {
  feedbackRequestFields,
  feedbackIds,
  leftOut,
  type CreatedJob,
  createdJobRows,
  jobCostRows,
  reasons,
  shownMax,
} from "../rewards/feedback-job.ts";
import { checkRewardTerms } from "../rewards/reward-terms.ts";
import { checkPreferenceConfig, preferenceConfigForm } from "./preference-config.ts";

/** Maximum number of preferences in a job; a greater number is probably a mistake. */
const preferencesMax = 20_000;

const correctionsSchema = Type.Object(
  {
    feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description: "Type of the feedback that contains corrections.",
      "x-default": "any type",
    }),
    path: nullable(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: "correction",
      description: "Path of the corrected answer in the payload, as in `/feedback/query`.",
    }),
  },
  { title: "Corrections" },
);

const rows = {
  ...feedbackRequestFields,
  corrections: nullable(correctionsSchema, {
    description:
      "Also trains on corrections: feedback whose payload contains a corrected answer, which is preferred to the original one. `{}` reads the path `correction` of feedback of any type.",
    "x-default": "corrections are not used",
  }),
  ...creationRows({
    marginMin: number({
      minimum: 0,
      maximum: 1e6,
      default: 0,
      about: "Minimum difference between the rewards of a pair's two answers. Must be 0 with kto.",
    }),
  }),
  threshold: nullable(Type.Number({ minimum: -1e6, maximum: 1e6 }), {
    "x-default": "0.5 with kto",
    description:
      "With kto: answers with a reward above this value count as wanted, answers with a reward below it as unwanted.",
  }),
  ...creationRows({
    pairsMax: integer({
      minimum: 1,
      maximum: preferencesMax,
      default: 2048,
      about:
        "Maximum number of pairs (with kto, of answers) in the job. If there are more, the next job can train on the others.",
    }),
  }),
  config: nullable(preferenceConfigForm, {
    description: "Settings of the job; settings that are omitted get their defaults.",
  }),
};

export const feedbackPreferencesForm = creation("FeedbackPreferenceJobCreate", rows, {
  more: (body, findings) => {
    const { rule, rule_id: ruleId, corrections, config } = body;
    checkPreferenceConfig(config, findings);
    if (isObject(rule)) checkRewardTerms(rule["terms"], findings, "rule", "terms");
    checkPath(corrections, findings);
    checkComparison(body, findings);
    const [rules, sources] = [
      [rule, ruleId],
      [rule, ruleId, corrections],
    ].map((given) => given.filter((one) => (one ?? null) !== null));
    if (sources.length === 0)
      report(
        findings,
        "missing",
        "Field required: say how feedback becomes a reward here, name a stored rule in rule_id, or have corrections read.",
        "rule",
      );
    if (rules.length > 1)
      report(
        findings,
        "value_error",
        "Value error, there are a rule here and a stored one in rule_id; give one of the two.",
        "rule",
      );
  },
});

function checkPath(corrections: unknown, findings: Findings): void {
  const path = isObject(corrections) ? corrections["path"] : null;
  if (typeof path !== "string" || pathSteps(path) !== null) return;
  const message = "Value error, path has an index that is larger than any list.";
  report(findings, "value_error", message, "corrections", "path");
}

/**
 * Adds a fault for a setting that the loss cannot use: a margin for KTO, or a threshold for a loss that compares pairs.
 */
function checkComparison(
  { config, margin_min: margin, threshold }: Readonly<Record<string, unknown>>,
  findings: Findings,
): void {
  const isKto = isObject(config) && config["loss"] === "kto";
  if (isKto && typeof margin === "number" && margin !== 0)
    report(
      findings,
      "value_error",
      "Value error, kto judges answers one by one, so rewards have no margin; say a threshold.",
      "margin_min",
    );
  if (!isKto && typeof threshold === "number")
    report(
      findings,
      "value_error",
      "Value error, answers are compared in pairs, and not with a threshold, which goes with the loss kto.",
      "threshold",
    );
}

/**
 * Converts a checked body to the domain's form.
 *
 * @param rule the rule in the body, or the stored rule with the name in the body; null if there is neither
 */
export function toPreferenceOrder(
  {
    corrections,
    config,
    marginMin,
    threshold,
  }: Pick<ReadValues<typeof rows>, "corrections" | "config" | "marginMin" | "threshold">,
  rule: RewardRule | null,
): PreferenceOrder {
  return {
    rule,
    corrections: corrections && {
      feedbackType: corrections.feedback_type ?? null,
      path: pathSteps(corrections.path ?? "correction") ?? [],
    },
    comparison:
      config?.loss === "kto"
        ? { kind: "verdicts", threshold: threshold ?? 0.5 }
        : { kind: "pairs", marginMin },
  };
}

const count = Type.Integer({ minimum: 0 });

const sideAnswer = answerOf<ComparedAnswer>()("ComparedAnswer", {
  call: Type.String({
    description: "Reference of the recorded answer; for a correction, of the answer that it corrects.",
  }),
  text: Type.String({ description: "Beginning of the answer's text." }),
  correction: [
    Type.Boolean({ description: "True if the answer is a correction that a person wrote." }),
    ({ isCorrection }) => isCorrection,
  ],
  step: Type.Integer({ minimum: 0, description: "Version of the model that gave the answer." }),
  reward: orNull(Type.Number(), { description: "Reward of the answer; null if no feedback rates it." }),
  people: [
    Type.Integer({ minimum: 1, description: "Number of people whose feedback led to this preference." }),
    ({ peopleCount }) => peopleCount,
  ],
  feedback_ids: feedbackIds(),
});

export const feedbackPreferencesAnswer = answerOf<PreferenceOutcome & CreatedJob & Cost>()(
  "FeedbackPreferenceJob",
  {
    ...createdJobRows,
    ...jobCostRows,
    counts: [
      Type.Object({
        feedback: Type.Integer({
          minimum: 0,
          description: "Number of feedback records that were considered.",
        }),
        prompts: Type.Integer({ minimum: 0, description: "Number of prompts with a preference." }),
        pairs: Type.Integer({
          minimum: 0,
          description: "Number of pairs (with kto, of answers) to train on.",
        }),
        corrections: Type.Integer({ minimum: 0, description: "Number of pairs that include a correction." }),
        people: Type.Integer({
          minimum: 0,
          description: "Number of people whose feedback on any of the answers is used.",
        }),
        trained_tokens: Type.Integer({
          minimum: 0,
          description:
            "Number of tokens of the answers to train on, in one pass. A correction counts as much as the answer that it corrects.",
        }),
        left_out: Type.Object(
          {},
          { additionalProperties: count, description: "Number of answers that are in no pair, by reason." },
        ),
      }),
      ({ counts: { preferences: pairs, trainedTokens, leftOut: byReason, ...counts } }) => ({
        ...counts,
        pairs,
        trained_tokens: trainedTokens,
        left_out: byReason,
      }),
    ],
    reasons,
    pairs: [
      Type.Array(
        Type.Object({
          prompt: Type.String({ description: "Beginning of the prompt." }),
          chosen: orNull(sideAnswer.schema, {
            description: "The preferred answer; with kto, a wanted answer.",
          }),
          rejected: orNull(sideAnswer.schema, {
            description: "The rejected answer; with kto, an unwanted answer.",
          }),
        }),
        { description: "The first 100 pairs. With kto, `chosen` or `rejected` may be null." },
      ),
      ({ preferences }) =>
        preferences.slice(0, shownMax).map(({ prompt, chosen, rejected }) => ({
          prompt,
          chosen: chosen && sideAnswer.body(chosen),
          rejected: rejected && sideAnswer.body(rejected),
        })),
    ],
    left_out: leftOut,
  },
);
