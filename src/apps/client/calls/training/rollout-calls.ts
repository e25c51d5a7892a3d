// Calls for rollouts. A rollout is one attempt of an agent at a task. The server records its model calls for training.
import { CallGroup } from "../call-group.ts";

const all = "/v1/preview/models/{model_id}/rollouts";
const one = "/v1/preview/models/{model_id}/rollouts/{rollout_id}";

/** The call group `hone.rollouts`. */
export class RolloutCalls extends CallGroup {
  /** Creates a rollout. The answer has the key and the base URLs for the agent. */
  readonly create = this.send(`POST ${all}`);
  /** Lists the rollouts of a model, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  /** Returns a rollout with its calls, and the sequences that they form. */
  readonly get = this.call(`GET ${one}`);
  /** Returns the calls of a rollout with their tokens, as trajectories that a training job accepts. */
  readonly trajectories = this.call(`GET ${one}/trajectories`);
  /** Ends a rollout with its reward. */
  readonly finish = this.send(`POST ${one}/finish`, { isRepeatable: true });
  /** Ends a rollout without a reward, so that no job trains on it. */
  readonly cancel = this.call(`POST ${one}/cancel`, { isRepeatable: true });
}
