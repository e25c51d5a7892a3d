// Calls for reward rules. A rule computes rewards from feedback, and can train a model automatically.
import { CallGroup } from "../call-group.ts";

const all = "/v1/preview/reward-rules";
const one = "/v1/preview/reward-rules/{rule_id}";

/** The call group `hone.rules`. */
export class RuleCalls extends CallGroup {
  readonly create = this.send(`POST ${all}`);
  /** Lists rules, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  /** Returns a rule and the state of its automatic training. */
  readonly get = this.call(`GET ${one}`);
  /** Replaces a rule's content. */
  readonly change = this.send(`PUT ${one}`);
  readonly delete = this.call(`DELETE ${one}`);
  /** Pauses a rule's automatic training until it is resumed. */
  readonly pause = this.call(`POST ${one}/pause`, { isRepeatable: true });
  readonly resume = this.call(`POST ${one}/resume`, { isRepeatable: true });
}
