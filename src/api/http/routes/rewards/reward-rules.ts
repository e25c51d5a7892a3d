// Routes that create, list, change and delete reward rules, and pause automatic ones.
import type { FastifyInstance } from "fastify";
import type { AutomaticOrder, StoredRule } from "../../../../base/domain/rewards/stored-rule.ts";
import { pageBody, pageRequest, pageSchema } from "../../../wire/page.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import {
  rewardRuleAnswer,
  ruleChangeForm,
  ruleCreateForm,
  ruleDeletionSchema,
  ruleQuerySchema,
} from "../../../wire/rewards/reward-rule.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";

export function rewardRuleRoutes(app: FastifyInstance, { rewards, feedback }: HttpDependencies): void {
  const on = endpoints(app, {
    tag: "training",
    scheme: "bearer",
    fieldPaths: { "standing.modelId": ["body", "standing", "model_id"] },
  });
  const toRuleBody = async (rule: StoredRule) =>
    rewardRuleAnswer.body({ ...rule, state: await rewards.stateOf(rule) });
  const checkFilter = (standing: AutomaticOrder | null): void =>
    void readFilter(standing?.filter, feedback.queryLimits, ["standing", "filter"]);
  const one = { answer: "The rule.", json: rewardRuleAnswer.schema };
  on(
    "POST /v1/preview/reward-rules",
    {
      summary: "Create a reward rule",
      description:
        "A reward rule defines how an answer's reward is computed from the feedback on it. An automatic rule also creates a training job whenever enough new feedback has arrived.",
      body: ruleCreateForm,
      ...one,
    },
    async ({ body: { entity, project, terms: rule, ...content }, caller }) => {
      checkFilter(content.standing);
      const place = { entity: entity ?? caller.entity, project };
      return toRuleBody(await rewards.create(place, { ...content, rule }, caller));
    },
  );
  on(
    "GET /v1/preview/reward-rules",
    {
      summary: "List reward rules",
      query: ruleQuerySchema,
      answer: "A page of rules, newest first by default.",
      json: pageSchema(rewardRuleAnswer.schema),
      options: readsPage,
    },
    async ({ query, caller }) => {
      const { entity = null, project = null } = query;
      const filter = { entity, project, modelId: query.model_id?.toLowerCase() ?? null };
      const { items, hasMore } = await rewards.list(filter, pageRequest(query, "desc"), caller);
      return pageBody({ items: await Promise.all(items.map(toRuleBody)), hasMore }, (rule) => rule);
    },
  );
  on(
    "GET /v1/preview/reward-rules/:rule_id",
    { summary: "Read a reward rule", ...one },
    async ({ params, caller }) => toRuleBody(await rewards.find(params.rule_id, caller)),
  );
  on(
    "PUT /v1/preview/reward-rules/:rule_id",
    {
      summary: "Change a reward rule",
      description:
        "Replaces the whole rule. An automatic rule then reads all feedback again, but does not train again on feedback that it has already used.",
      body: ruleChangeForm,
      ...one,
    },
    async ({ params, body: { terms: rule, ...content }, caller }) => {
      checkFilter(content.standing);
      return toRuleBody(await rewards.change(params.rule_id, { ...content, rule }, caller));
    },
  );
  on(
    "DELETE /v1/preview/reward-rules/:rule_id",
    {
      summary: "Delete a reward rule",
      description: "Versions that the rule's jobs made are kept.",
      answer: "The rule is deleted.",
      json: ruleDeletionSchema,
    },
    async ({ params, caller }) => {
      const { id } = await rewards.find(params.rule_id, caller);
      await rewards.delete(id, caller);
      return { id, deleted: true };
    },
  );
  on(
    "POST /v1/preview/reward-rules/:rule_id/pause",
    {
      summary: "Pause an automatic rule",
      description: "The rule creates no jobs until it is resumed. A job that it already created continues.",
      ...one,
    },
    async ({ params, caller }) => toRuleBody(await rewards.setPaused(params.rule_id, true, caller)),
  );
  on(
    "POST /v1/preview/reward-rules/:rule_id/resume",
    {
      summary: "Resume an automatic rule",
      description: "The rule continues with the feedback that arrived while it was paused.",
      ...one,
    },
    async ({ params, caller }) => toRuleBody(await rewards.setPaused(params.rule_id, false, caller)),
  );
}
