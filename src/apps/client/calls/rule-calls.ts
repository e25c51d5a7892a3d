// Reward rules: how feedback becomes a reward, kept under names, and what trains by itself.
import type { Page, RewardRule, RewardRuleChange, RewardRuleCreate } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, QueryOf } from "./calls.ts";

const all = "/v1/preview/reward-rules";
const one = "/v1/preview/reward-rules/{rule_id}";

/** `hone.rules` */
export class RuleCalls extends CallGroup {
  create(rule: RewardRuleCreate, options?: RequestOptions): Promise<RewardRule> {
    return this.calls.value(`POST ${all}`, { body: rule }, options);
  }

  /** The newest first unless asked. */
  list(
    query: QueryOf<`GET ${typeof all}`> = {},
    options?: RequestOptions,
  ): Pages<RewardRule, Page<RewardRule>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  /** With what a standing one is about. */
  get(ruleId: string, options?: RequestOptions): Promise<RewardRule> {
    return this.calls.value(`GET ${one}`, ruleAt(ruleId), options);
  }

  /** Has a rule say something else. */
  change(ruleId: string, rule: RewardRuleChange, options?: RequestOptions): Promise<RewardRule> {
    return this.calls.value(`PUT ${one}`, { ...ruleAt(ruleId), body: rule }, options);
  }

  delete(ruleId: string, options?: RequestOptions): Promise<AnswerOf<`DELETE ${typeof one}`>> {
    return this.calls.value(`DELETE ${one}`, ruleAt(ruleId), options);
  }

  /** Has a standing rule make no jobs until it is resumed. */
  pause(ruleId: string, options?: RequestOptions): Promise<RewardRule> {
    return this.calls.value(`POST ${one}/pause`, ruleAt(ruleId), { isRepeatable: true, ...options });
  }

  resume(ruleId: string, options?: RequestOptions): Promise<RewardRule> {
    return this.calls.value(`POST ${one}/resume`, ruleAt(ruleId), { isRepeatable: true, ...options });
  }
}

function ruleAt(ruleId: string) {
  return { path: { rule_id: ruleId } };
}
