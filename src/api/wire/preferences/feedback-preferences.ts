// A preference job that is made of feedback: what is asked for, which answers are preferred to which, and what is left out.
import { Type, type Static } from "typebox";
import { pathSteps } from "../../../base/domain/feedback-query/feedback-field.ts";
import type { PreferenceOrder } from "../../../base/domain/rewards/preference-order.ts";
import type { ComparedAnswer, PreferenceOutcome } from "../../../base/domain/rewards/preference-outcome.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { askedFeedbackFields, leftOutBody, leftOutSchema, shownMax } from "../rewards/feedback-job.ts";
import { checkRewardTerms } from "../rewards/reward-terms.ts";
import { checkPreferenceConfig, preferenceConfigForm } from "./preference-config.ts";

/** More would be a mistake. */
const preferencesMax = 20_000;

const correctionsSchema = Type.Object(
  {
    feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description: "Which feedback.",
      "x-default": "of any type",
    }),
    path: nullable(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: "correction",
      description: "Where in the payload the text is, as queries spell it.",
    }),
  },
  { title: "Corrections" },
);

const creationSchema = Type.Object(
  {
    ...askedFeedbackFields,
    corrections: nullable(correctionsSchema, {
      description:
        "Feedback on an answer that holds what should have been answered: that is preferred to the answer. {} reads `correction` of any payload.",
      "x-default": "none is read",
    }),
    margin_min: nullable(Type.Number({ minimum: 0, maximum: 1e6 }), {
      default: 0,
      description: "By how much the rewards of a pair differ at least; not with kto.",
    }),
    threshold: nullable(Type.Number({ minimum: -1e6, maximum: 1e6 }), {
      "x-default": "0.5 with kto",
      description:
        "With kto: people wanted the answers whose reward is greater, and did not want those whose reward is smaller.",
    }),
    pairs_max: nullable(Type.Integer({ minimum: 1, maximum: preferencesMax }), {
      default: 2048,
      description: "Most pairs of the job, with kto answers; what is left is for the next.",
    }),
    config: nullable(preferenceConfigForm, { description: "How it is trained." }),
  },
  { title: "FeedbackPreferenceJobCreate" },
);

export const feedbackPreferencesForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
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
};

export type FeedbackPreferencesBody = Static<typeof creationSchema>;

function checkPath(corrections: unknown, findings: Findings): void {
  const path = isObject(corrections) ? corrections["path"] : null;
  if (typeof path !== "string" || pathSteps(path) !== null) return;
  const message = "Value error, path has an index that is larger than any list.";
  report(findings, "value_error", message, "corrections", "path");
}

/** What compares pairs, and what judges answers one by one. */
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

/** Reads a checked body. @param rule of the body, or the stored one that it names */
export function toPreferenceOrder(
  { corrections, config, margin_min: marginMin, threshold }: FeedbackPreferencesBody,
  rule: RewardRule | null,
): PreferenceOrder {
  return {
    rule,
    corrections: corrections
      ? {
          feedbackType: corrections.feedback_type ?? null,
          path: pathSteps(corrections.path ?? "correction") ?? [],
        }
      : null,
    comparison:
      config?.loss === "kto"
        ? { kind: "verdicts", threshold: threshold ?? 0.5 }
        : { kind: "pairs", marginMin: marginMin ?? 0 },
  };
}

const count = Type.Integer({ minimum: 0 });

const sideSchema = Type.Object(
  {
    call: Type.String({ description: "The answer's reference, or that of the answer that it corrects." }),
    text: Type.String({ description: "How it begins." }),
    correction: Type.Boolean({ description: "Whether a person wrote it, in place of the answer." }),
    step: Type.Integer({ minimum: 0, description: "The version that answered." }),
    reward: orNull(Type.Number(), { description: "Null where people did not rate it." }),
    people: Type.Integer({ minimum: 1, description: "Whose feedback has it stand here." }),
    feedback_ids: Type.Array(Type.String(), { description: "The records that count; the first hundred." }),
  },
  { title: "ComparedAnswer" },
);

export const feedbackPreferencesSchema = Type.Object(
  {
    id: orNull(Type.String({ format: "uuid" }), {
      description: "The job's; null of a dry run, and where there was nothing to train on.",
    }),
    dry_run: Type.Boolean(),
    counts: Type.Object({
      feedback: Type.Integer({ minimum: 0, description: "Records that may be read." }),
      prompts: count,
      pairs: Type.Integer({ minimum: 0, description: "That train, with kto answers." }),
      corrections: Type.Integer({ minimum: 0, description: "Pairs of which one is a correction." }),
      people: Type.Integer({ minimum: 0, description: "Whose feedback counts, on all answers." }),
      left_out: Type.Object(
        {},
        { additionalProperties: count, description: "Answers that are in no pair, by the reason." },
      ),
    }),
    reasons: Type.Object(
      {},
      { additionalProperties: Type.String(), description: "What the reasons that there are mean." },
    ),
    pairs: Type.Array(
      Type.Object({
        prompt: Type.String({ description: "How it begins." }),
        chosen: orNull(sideSchema),
        rejected: orNull(sideSchema),
      }),
      { description: "The first hundred; with kto one of the two may be null." },
    ),
    left_out: Type.Array(leftOutSchema, { description: "The first hundred." }),
  },
  { title: "FeedbackPreferenceJob" },
);

/** @param id of the job; null where there is none */
export function feedbackPreferencesBody(
  { counts, reasons, preferences, leftOut }: PreferenceOutcome,
  { id, isDryRun }: { readonly id: string | null; readonly isDryRun: boolean },
): object {
  return {
    id,
    dry_run: isDryRun,
    counts: {
      feedback: counts.feedback,
      prompts: counts.prompts,
      pairs: counts.preferences,
      corrections: counts.corrections,
      people: counts.people,
      left_out: counts.leftOut,
    },
    reasons,
    pairs: preferences.slice(0, shownMax).map(({ prompt, chosen, rejected }) => ({
      prompt,
      chosen: sideBody(chosen),
      rejected: sideBody(rejected),
    })),
    left_out: leftOutBody(leftOut),
  };
}

function sideBody(side: ComparedAnswer | null): object | null {
  return (
    side && {
      call: side.call,
      text: side.text,
      correction: side.isCorrection,
      step: side.step,
      reward: side.reward,
      people: side.peopleCount,
      feedback_ids: side.feedbackIds.slice(0, shownMax),
    }
  );
}
