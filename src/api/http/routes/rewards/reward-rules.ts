// Reward rules: keeping them, and pausing those that train by themselves.
import type { FastifyInstance } from "fastify";
import type { StoredRule } from "../../../../base/domain/rewards/stored-rule.ts";
import type { RuleContent } from "../../../../train/rewards/reward-service.ts";
import { pageBody, cursorRefusal, pageRequest } from "../../../wire/page.ts";
import { locate, type WirePlaces } from "../../../wire/places.ts";
import {
  rewardRuleBody,
  rewardRulePageSchema,
  rewardRuleSchema,
  ruleChangeForm,
  type RuleChangeBody,
  ruleCreateForm,
  ruleDeletionSchema,
  ruleQuerySchema,
} from "../../../wire/rewards/reward-rule.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import { toRewardRule } from "../../../wire/rewards/reward-terms.ts";
import { toStandingOrder } from "../../../wire/rewards/standing-order.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { readBody } from "../../input/read-body.ts";
import { readsPage } from "../../reading/stored-reads.ts";

const documented = { tags: ["training"], security: [{ bearer: [] }] };
const path = "/v1/preview/reward-rules";

interface RulePath {
  Params: { rule_id: string };
}

export const ruleParameters = {
  type: "object",
  properties: { rule_id: { type: "string", description: "The rule's id." } },
} as const;

/** Where the fields of a rule stand in the body. */
const rulePlaces: WirePlaces = {
  entity: ["body", "entity"],
  project: ["body", "project"],
  name: ["body", "name"],
  "standing.modelId": ["body", "standing", "model_id"],
};

export function rewardRuleRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { rewards, feedback } = dependencies;
  const bodyOf = async (rule: StoredRule): Promise<object> =>
    rewardRuleBody(rule, await rewards.stateOf(rule));
  const checkFilter = ({ standing }: RuleChangeBody): void =>
    void readFilter(standing?.filter, feedback.queryLimits, ["standing", "filter"]);
  const one = answered("The rule.", { json: rewardRuleSchema });
  app.post(
    path,
    {
      schema: {
        summary: "Keep a reward rule",
        description:
          "How feedback becomes a reward, under a name. A standing one trains a model by itself when enough new feedback has come.",
        body: ruleCreateForm.schema,
        response: one,
        ...documented,
      },
    },
    async (request, reply) => {
      const body = readBody(ruleCreateForm, request, reply);
      checkFilter(body);
      const place = { entity: body.entity ?? request.caller.entity, project: body.project };
      return bodyOf(await rewards.create(place, contentOf(body), request.caller).catch(throwInBody));
    },
  );
  app.get(
    path,
    {
      ...readsPage,
      schema: {
        summary: "List reward rules",
        querystring: ruleQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: rewardRulePageSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(ruleQuerySchema, request, reply);
      const filter = {
        entity: query.entity ?? null,
        project: query.project ?? null,
        modelId: query.model_id?.toLowerCase() ?? null,
      };
      const page = await rewards
        .list(filter, pageRequest(query, "desc"), request.caller)
        .catch((error: unknown) => {
          throw cursorRefusal(error);
        });
      const bodies = new Map(
        await Promise.all(page.items.map(async (rule) => [rule, await bodyOf(rule)] as const)),
      );
      return pageBody(page, (rule) => bodies.get(rule) ?? {});
    },
  );
  app.get<RulePath>(
    `${path}/:rule_id`,
    { schema: { summary: "Read a reward rule", params: ruleParameters, response: one, ...documented } },
    async (request) => bodyOf(await rewards.find(request.params.rule_id, request.caller).catch(throwInPath)),
  );
  app.put<RulePath>(
    `${path}/:rule_id`,
    {
      schema: {
        summary: "Change a reward rule",
        description:
          "All that it says. A standing one reads its feedback from the beginning again; what was trained is not trained twice.",
        params: ruleParameters,
        body: ruleChangeForm.schema,
        response: one,
        ...documented,
      },
    },
    async (request, reply) => {
      const body = readBody(ruleChangeForm, request, reply);
      checkFilter(body);
      const content = contentOf(body);
      const { rule_id: id } = request.params;
      const { id: known } = await rewards.find(id, request.caller).catch(throwInPath);
      return bodyOf(await rewards.change(known, content, request.caller).catch(throwInBody));
    },
  );
  app.delete<RulePath>(
    `${path}/:rule_id`,
    {
      schema: {
        summary: "Delete a reward rule",
        description: "What was trained by it stays trained.",
        params: ruleParameters,
        response: answered("It is gone.", { json: ruleDeletionSchema }),
        ...documented,
      },
    },
    async (request) => {
      const { id } = await rewards.find(request.params.rule_id, request.caller).catch(throwInPath);
      await rewards.delete(id, request.caller);
      return { id, deleted: true };
    },
  );
  for (const [action, isPaused, summary] of [
    ["pause", true, "Pause a standing rule"],
    ["resume", false, "Resume a standing rule"],
  ] as const)
    app.post<RulePath>(
      `${path}/:rule_id/${action}`,
      {
        schema: {
          summary,
          description: isPaused
            ? "It makes no jobs until it is resumed; a job that it made goes on."
            : "It goes on where it was; feedback that came meanwhile is read.",
          params: ruleParameters,
          response: one,
          ...documented,
        },
      },
      async (request) =>
        bodyOf(await rewards.setPaused(request.params.rule_id, isPaused, request.caller).catch(throwInPath)),
    );
}

function contentOf({ name, terms, standing }: RuleChangeBody): RuleContent {
  return { name, rule: toRewardRule(terms), standing: standing ? toStandingOrder(standing) : null };
}

function throwInBody(error: unknown): never {
  throw locate(error, rulePlaces);
}

function throwInPath(error: unknown): never {
  throw locate(error, { not_found: ["path", "rule_id"] });
}
