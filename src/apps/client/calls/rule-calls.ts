// Reward rules: how feedback becomes a reward, kept under names, and what trains by itself.
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/reward-rules";
const one = "/v1/preview/reward-rules/{rule_id}";

/** `hone.rules` */
export class RuleCalls extends CallGroup {
  readonly create = this.send(`POST ${all}`);
  /** The newest first unless asked. */
  readonly list = this.pages(`GET ${all}`);
  /** With what a standing one is about. */
  readonly get = this.call(`GET ${one}`);
  /** Has a rule say something else. */
  readonly change = this.send(`PUT ${one}`);
  readonly delete = this.call(`DELETE ${one}`);
  /** Has a standing rule make no jobs until it is resumed. */
  readonly pause = this.call(`POST ${one}/pause`, { isRepeatable: true });
  readonly resume = this.call(`POST ${one}/resume`, { isRepeatable: true });
}
