// Reward rules that are kept in a project.
import { Type, type Static } from "typebox";
import type { StoredRule } from "../../../base/domain/rewards/stored-rule.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import { report } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields, pageSchema } from "../page.ts";
import { checkRewardTerms, rewardTermsBody, rewardTermsSchema } from "./reward-terms.ts";
import {
  checkStanding,
  type ShownState,
  standingBody,
  standingSchema,
  standingStateBody,
  standingStateSchema,
} from "./standing-order.ts";

const ruleFields = {
  name: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Letters, digits and `._-`; unique among the rules of its project.",
  }),
  terms: rewardTermsSchema,
  standing: nullable(standingSchema, { description: "Has it train a model by itself, as feedback comes." }),
};

const changeSchema = Type.Object(ruleFields, { title: "RewardRuleChange" });

const creationSchema = Type.Object(
  {
    entity: nullable(Type.String({ minLength: 1, maxLength: 128 }), {
      description: "Whose it is.",
      "x-default": "the caller's own",
    }),
    project: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "Whose feedback it reads; comes into being at first use.",
    }),
    ...ruleFields,
  },
  { title: "RewardRuleCreate" },
);

const more: BodyForm<typeof changeSchema>["more"] = ({ name, terms, standing }, findings) => {
  if (typeof name === "string" && name !== "" && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    const message = `Value error, name is ${quoted(name)}; it may have letters, digits and ._- alone, and begins with one of the first two.`;
    report(findings, "value_error", message, "name");
  }
  checkRewardTerms(terms, findings, "terms");
  checkStanding(standing, findings);
};

export const ruleCreateForm: BodyForm<typeof creationSchema> = { schema: creationSchema, more };
export const ruleChangeForm: BodyForm<typeof changeSchema> = { schema: changeSchema, more };
export type RuleChangeBody = Static<typeof changeSchema>;

export const ruleQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only this entity's." })),
  project: Type.Optional(Type.String({ description: "Only this project's." })),
  model_id: Type.Optional(Type.String({ description: "Only standing ones of this model." })),
});

export const rewardRuleSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    entity: Type.String(),
    project: Type.String(),
    name: Type.String(),
    terms: rewardTermsSchema,
    standing: orNull(standingSchema, { description: "Null of one that trains when somebody asks alone." }),
    paused: Type.Boolean({ description: "Whether a standing one makes no jobs until it is resumed." }),
    state: orNull(standingStateSchema, { description: "What a standing one is about; null of others." }),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { title: "RewardRule" },
);
export const rewardRulePageSchema = pageSchema(rewardRuleSchema);

export const ruleDeletionSchema = Type.Object({
  id: Type.String({ format: "uuid" }),
  deleted: Type.Boolean(),
});

/** @param state of a standing one */
export function rewardRuleBody(stored: StoredRule, state: ShownState | null): object {
  const { id, entity, project, name, rule, standing, isPaused, createdAt, updatedAt } = stored;
  return {
    id,
    entity,
    project,
    name,
    terms: rewardTermsBody(rule),
    standing: standing && standingBody(standing),
    paused: isPaused,
    state: standing && state && standingStateBody(standing, state),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
