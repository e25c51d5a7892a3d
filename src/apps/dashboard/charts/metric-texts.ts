// Meanings of the metrics of jobs and versions, as docs/concepts/training.md defines them. Has no side effects.

/** Meanings by name. Metrics that a step and a version name differently have both names, separated by a space. */
const meanings: Readonly<Record<string, string>> = {
  reward: "Mean reward of the logged trajectories.",
  reward_std_dev: "Standard deviation of the rewards.",
  exception_rate: "Share of the logged trajectories that ended with an exception.",
  "val/reward": "Mean logged reward of the version on the split val.",
  "train/reward": "Mean logged reward of the version on the split train.",
  "data/reward": "Mean reward of the answers that trained the version, sampled from its predecessor.",
  "data/reward_std_dev": "Standard deviation of the rewards of the job's data.",
  "loss loss/train":
    "The loss that a step minimizes. It is near 0 without a trend; the reward shows progress.",
  "entropy loss/entropy":
    "How evenly the model spreads its choice of the next token, in nats. A fast fall shows that answers become alike.",
  "grad_norm loss/grad_norm": "Norm of the gradient before clipping. It should be similar from job to job.",
  "learning_rate loss/learning_rate": "Learning rate of the optimizer AdamW.",
  "kl_div loss/kl_div":
    "Distance (KL, k3) between the policy that sampled the data and the current policy. Usually at most 0.05.",
  "loss/kl_div_k1":
    "The distance kl_div by the estimate k1, which may be negative. If the two differ, a few tokens dominate.",
  "loss/kl_update":
    "How far the job moved the policy (KL, k1). 0.01 to 0.3 is usual; above 1, the learning rate is too high.",
  "loss/kl_update_k3": "How far the job moved the policy, by the estimate k3.",
  "kl_policy_ref loss/kl_policy_ref":
    "Estimated distance (KL, k1) of the current policy from the base model. Noisy around 0 at first, so it may be negative.",
  "loss/kl_policy_ref_k3":
    "Distance (KL, k3) from the base model. 0.001 to 0.2 in a good run; above 1, the model is often worse at other tasks.",
  "loss/importance_ratio_mean":
    "Mean ratio of a token's current to its old probability. 0.9 to 1.1 is usual.",
  "loss/importance_ratio_p95": "95th percentile of the ratio of a token's current to its old probability.",
  "loss/importance_ratio_max": "Maximum ratio of a token's current to its old probability.",
  "loss/clipped_token_fraction":
    "Share of tokens whose probability ratio is clipped. Above 0.3, most of the gradient is lost.",
  "max_logprob_difference loss/first_max_logprob_difference":
    "Maximum difference between recorded and computed log-probabilities. Below 0.001 at the first step on fresh data.",
  "mean_logprob_difference loss/first_mean_logprob_difference":
    "Mean difference between recorded and computed log-probabilities.",
  "loss/base_precision_difference_mean":
    "Mean difference of log-probabilities between base weights in 8 bits and in float32. Above 0.25, the job warns.",
  "loss/base_precision_difference_max":
    "Maximum difference of log-probabilities between base weights in 8 bits and in float32.",
  "completions/mean_length":
    "Mean number of tokens in an answer. Growth to the limit shows that the reward favours length.",
  "completions/max_length": "Maximum number of tokens in an answer.",
  "completions/clipped_ratio": "Share of answers that were cut off at the token limit.",
  "tokens_per_second throughput/trainer_tokens_per_second":
    "Tokens of prompts and answers that the trainer processes per second.",
  "offpolicy/policy_staleness_mean":
    "Mean number of versions by which the data is older than the job's start version.",
  "offpolicy/policy_staleness_max":
    "Maximum number of versions by which the data is older than the job's start version.",
  "rewards/chosen": "β times the log-probability ratio of the preferred answers to the reference.",
  "rewards/rejected": "β times the log-probability ratio of the rejected answers to the reference.",
  "rewards/margins": "rewards/chosen minus rewards/rejected. It should rise.",
  "rewards/accuracies": "Share of pairs whose preferred answer has the higher reward. It should rise.",
  kl: "Estimated distance from the reference model (KTO's z).",
  "logps/chosen":
    "Log-probability of the preferred answers. A fast fall needs a higher beta or a lower rate.",
  "logps/rejected": "Log-probability of the rejected answers.",
  num_sequences: "Number of optimizer steps of the job.",
  training_step: "Number of the version to which the log belongs.",
  "time/step_trainer_s": "Duration of the job in seconds.",
  "time/wall_clock_sec": "Seconds from the registration of the model to the log.",
};

const texts: ReadonlyMap<string, string> = new Map(
  Object.entries(meanings).flatMap(([names, text]) => names.split(" ").map((name) => [name, text] as const)),
);

/**
 * Returns the meaning of a metric; null for a metric that clients logged themselves. A split such as `val/` in front of
 * a metric of logs does not change its meaning.
 */
export function metricText(name: string): string | null {
  return (
    texts.get(name) ??
    texts.get(name.replace(/^[^/]+\/(reward_std_dev|exception_rate|reward)$/, "$1")) ??
    null
  );
}
