// API format of the reward rules stored in a project.
import { Type } from "typebox";
import type { StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { isObject, report } from "../../../base/validation/findings.ts";
import type { MoreChecks } from "../body.ts";
import { answerOf, creation, readBy } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";
import { checkRewardTerms, rewardTermsBody, rewardTermsSchema, toRewardRule } from "./reward-terms.ts";
import {
  checkAutomaticRule,
  type ShownState,
  automaticRuleBody,
  automaticRuleSchema,
  automaticStateAnswer,
  toAutomaticRule,
} from "./automatic-rule.ts";

const rows = {
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Name of the rule: letters, digits and `._-`; unique in the project.",
  }),
  terms: readBy(
    nullable(rewardTermsSchema, {
      description:
        "Terms of the rule, from which the server computes an answer's reward. Required, except for a rule on rollouts, which has none.",
    }),
    toRewardRule,
    { terms: [] },
  ),
  standing: readBy(
    nullable(automaticRuleSchema, {
      description:
        "Makes the rule automatic: it creates training jobs for a model as feedback arrives. Null: the rule trains only on request.",
    }),
    toAutomaticRule,
    null,
  ),
};

const more: MoreChecks = ({ name, terms, standing }, findings) => {
  if (typeof name === "string" && name !== "" && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    const message = `Value error, name is ${quoted(name)}; it may have only letters, digits and ._-, and must begin with a letter or digit.`;
    report(findings, "value_error", message, "name");
  }
  const isQueue = isObject(standing) && (standing["rollouts"] ?? null) !== null;
  if (isQueue && (terms ?? null) !== null)
    report(findings, "value_error", "A rule on rollouts has no terms: each rollout has its reward", "terms");
  if (!isQueue && (terms ?? null) === null) report(findings, "missing", "Field required", "terms");
  checkRewardTerms(terms, findings, "terms");
  checkAutomaticRule(standing, findings);
};

export const ruleChangeForm = creation("RewardRuleChange", rows, { more });
export const ruleCreateForm = creation(
  "RewardRuleCreate",
  {
    entity: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
      description: "Entity that owns the rule.",
      "x-default": "the entity of the key",
    }),
    project: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "Project whose feedback the rule reads; created at first use.",
    }),
    ...rows,
  },
  { more },
);

export const ruleQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only rules of this entity." })),
  project: Type.Optional(Type.String({ description: "Only rules of this project." })),
  model_id: Type.Optional(Type.String({ description: "Only automatic rules of this model." })),
});

/** A reward rule, with its state if the rule trains automatically. */
export const rewardRuleAnswer = answerOf<StoredRule & { readonly state: ShownState | null }>()("RewardRule", {
  id: Type.String({ format: "uuid" }),
  entity: Type.String(),
  project: Type.String(),
  name: Type.String(),
  terms: [
    Type.Array(rewardTermsSchema.items, { description: "Terms of the rule; none for a rule on rollouts." }),
    ({ rule }) => rewardTermsBody(rule),
  ],
  standing: [
    orNull(automaticRuleSchema, {
      description: "Settings of an automatic rule; null for a rule that trains only on request.",
    }),
    ({ standing }) => standing && automaticRuleBody(standing),
  ],
  paused: [
    Type.Boolean({
      description: "True if the automatic rule is paused: it creates no jobs until it is resumed.",
    }),
    ({ isPaused }) => isPaused,
  ],
  state: [
    orNull(automaticStateAnswer.schema, {
      description: "State of an automatic rule; null for a rule that trains only on request.",
    }),
    ({ standing: order, state }) => order && state && automaticStateAnswer.body({ ...state, order }),
  ],
  created_at: Type.String({ format: "date-time" }),
  updated_at: Type.String({ format: "date-time" }),
});

export const ruleDeletionSchema = Type.Object({
  id: Type.String({ format: "uuid" }),
  deleted: Type.Boolean(),
});
