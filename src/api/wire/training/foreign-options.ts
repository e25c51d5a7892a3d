// Options of other trainers that Hone's trainer lacks. Such an option is accepted if its value asks for behaviour that
// Hone's trainer has anyway. All other values are refused, so that no job silently ignores an option.
import type { TProperties } from "typebox";
import { Type } from "typebox";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { is, never, type AsksNothing } from "../body.ts";
import { nullable } from "../nullable.ts";

interface ForeignOption {
  /** True for values that ask for behaviour that the trainer has anyway. Null is always accepted. */
  readonly asksNothing: AsksNothing;
  readonly description: string;
  /** Sentence that says which values the server accepts. */
  readonly acceptance: string;
}

const accepted = (description: string): ForeignOption => ({
  asksNothing: () => true,
  description,
  acceptance: "Accepted, but has no effect.",
});
const refused = (description: string): ForeignOption => ({
  asksNothing: never,
  description,
  acceptance: "Refused.",
});
const oneOf = (values: readonly unknown[], description: string): ForeignOption => ({
  asksNothing: is(...values),
  description,
  acceptance: `Refused unless ${values.map((value) => JSON.stringify(value)).join(" or ")}.`,
});
const only = (value: unknown, description: string): ForeignOption => oneOf([value], description);

const ofModel =
  "The shape of adapters belongs to the model: set lora_rank, lora_alpha and target_modules when you register it, before its first job.";
const noSchedule =
  "The learning rate has no schedule. Send several jobs with different rates; a supervised job also accepts a list with one rate per step.";
const ofOptimizer = "The optimizer is AdamW with betas of 0.9 and 0.99.";

/** Options that jobs of all kinds may have. */
const ofAllJobs: Readonly<Record<string, ForeignOption>> = {
  adam_beta1: only(0.9, ofOptimizer),
  adam_beta2: only(0.99, ofOptimizer),
  adam_epsilon: only(1e-8, "The optimizer is AdamW with an epsilon of 1e-8."),
  adam_params: refused(`${ofOptimizer} Its weight_decay and max_grad_norm are separate options.`),
  final_training_step: accepted("Every job makes a version."),
  gradient_accumulation_steps: only(1, "Set batch_size, the number of sequences per step."),
  lora_alpha: refused(ofModel),
  lora_config: refused(ofModel),
  lora_dropout: only(0, "Adapters train without dropout."),
  lora_rank: refused(ofModel),
  lr_scheduler: only("constant", noSchedule),
  lr_scheduler_type: only("constant", noSchedule),
  max_steps: only(
    -1,
    "Set batch_size and the number of passes over the data, which determine the number of steps.",
  ),
  optim: oneOf(["adamw", "adamw_torch"], ofOptimizer),
  optimizer_save_interval: accepted("The optimizer's state is stored with every version."),
  peft_args: refused(ofModel),
  save_checkpoint: only(true, "Every job makes a version."),
  seed: refused(
    "The random choices of a job are derived from its content, so the same job always has the same result.",
  ),
  start_step: refused("A job starts from the model's newest version."),
  target_modules: refused(ofModel),
  warmup_ratio: only(0, noSchedule),
  warmup_steps: only(0, noSchedule),
};

const ofClipping = "Set epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high].";
const ofEntropy = "The loss has no entropy term; sample at a higher temperature, or lower learning_rate.";
const ofKl = "Set kl_penalty_coef, which changes advantages; the loss has no KL term.";
const ofLoss = "The loss is the mean over a step's tokens, with equal weight for each trajectory.";
const ofTruncated =
  "Truncated answers are trained on like others, with the rewards that you give them. Leave out their trajectories, or lower their rewards.";

/** Options that reinforcement learning jobs may have. */
const ofReinforcement: Readonly<Record<string, ForeignOption>> = {
  ...ofAllJobs,
  beta: only(0, ofKl),
  clip_ratio: refused(ofClipping),
  clip_ratio_c: refused(ofClipping),
  clip_ratio_high: refused(ofClipping),
  clip_ratio_low: refused(ofClipping),
  cliprange: refused(ofClipping),
  delta: refused(
    `${ofClipping} max_negative_advantage_importance_sampling_weight caps ratios of both signs.`,
  ),
  dynamic_sampling: only(false, "A group whose rewards are all equal is skipped; send other groups instead."),
  entropy_coef: only(0, ofEntropy),
  entropy_coeff: only(0, ofEntropy),
  entropy_loss_coef: only(0, ofEntropy),
  eps_clip: refused(ofClipping),
  eps_clip_high: refused(ofClipping),
  eps_clip_low: refused(ofClipping),
  gamma: only(1, "A trajectory has one reward, shared by all its tokens."),
  grad_clip: refused("Set max_grad_norm."),
  init_kl_coef: only(0, ofKl),
  kl_coef: only(0, ofKl),
  kl_loss_coef: only(0, ofKl),
  kl_loss_type: refused(ofKl),
  kl_penalty_reference_step: only(0, "The reference is always the base model (step 0)."),
  kl_penalty_step_lag: refused("The reference is always the base model (step 0)."),
  kl_ref_adapter_path: refused("The reference is always the base model (step 0)."),
  logprob_calculation_chunk_size: accepted("The server's settings control the memory for training."),
  loss_fn_config: refused("Send the options of the loss next to loss_fn."),
  lam: only(1, "Advantages are relative to the group; there is no critic."),
  loss_agg_mode: refused(ofLoss),
  loss_reduction: refused(ofLoss),
  loss_type: only("bnpo", ofLoss),
  mask_truncated_completions: only(false, ofTruncated),
  max_completion_length: refused(
    "Set max_completion_tokens in the rollouts' requests; training truncates nothing.",
  ),
  max_prompt_length: refused(
    "Nothing is truncated; sequences that are too long are left out (packed_sequence_length).",
  ),
  moe_routing_replay_bundle: refused("Training computes the routing anew."),
  moe_routing_replay_path: refused("Training computes the routing anew."),
  moe_routing_replay_strict: accepted("Training computes the routing anew."),
  num_iterations: only(1, "Set passes."),
  overlong_buffer_len: refused(ofTruncated),
  overlong_filtering: only(false, ofTruncated),
  plot_tensors: only(false, "Nothing is plotted."),
  policy_loss_type: refused("Set loss_fn to cispo or ppo."),
  ppo_epochs: only(1, "Set passes."),
  ppo_mini_batch_size: refused("Set batch_size, the number of sequences per step."),
  reward_weights: refused("A trajectory has one reward; combine its parts before you send it."),
  scale_learning_rate_by_reward_std_dev: only(false, "The learning rate does not depend on the rewards."),
  sync_ref_model: only(false, "The reference is always the base model (step 0)."),
  target_kl: refused("Set max_kl_update: a job that exceeds it fails. Steps do not end early."),
  top_entropy_quantile: only(1, "All tokens of an answer are trained on."),
  use_entropy_loss: only(false, ofEntropy),
  use_kl_loss: only(false, ofKl),
};

/** Options that preference jobs may have, under TRL's names. */
const ofPreferences: Readonly<Record<string, ForeignOption>> = {
  ...ofAllJobs,
  cpo_alpha: only(0, "The losses have no likelihood term."),
  disable_dropout: accepted("There is no dropout."),
  f_divergence_type: only("reverse_kl", "The losses compare log ratios."),
  loss_type: refused("Set loss: TRL's sigmoid is dpo."),
  max_completion_length: refused("Nothing is truncated; sequences that are too long are left out."),
  max_length: refused(
    "Nothing is truncated; sequences that are too long are left out (training.sequenceLengthMax).",
  ),
  max_prompt_length: refused("Nothing is truncated; sequences that are too long are left out."),
  precompute_ref_log_probs: accepted(
    "The reference's log-probabilities are always computed once, before the first step.",
  ),
  reference_free: only(false, "Set loss to simpo, which has no reference."),
  rpo_alpha: refused("The losses have no likelihood term."),
  simpo_gamma: refused("Set gamma."),
  sync_ref_model: only(false, "The reference does not change during a job."),
};

export const foreignOptions = { rl: ofReinforcement, sft: ofAllJobs, preference: ofPreferences } as const;

/** Returns the options as properties for the schema of a job's settings. */
export function foreignProperties(options: Readonly<Record<string, ForeignOption>>): TProperties {
  return Object.fromEntries(
    Object.entries(options).map(([name, { acceptance, description }]) => [
      name,
      nullable(Type.Unknown(), { description: `${acceptance} ${description}` }),
    ]),
  );
}

/**
 * Adds a fault for each option of another trainer that asks for something unsupported.
 *
 * @param isInert true for options that have no effect in these settings, so that any value is accepted
 */
export function refuseForeign(
  config: unknown,
  options: Readonly<Record<string, ForeignOption>>,
  findings: Findings,
  { place, isInert = () => false }: { readonly place: string; readonly isInert?: (name: string) => boolean },
): void {
  if (!isObject(config)) return;
  for (const [name, value] of Object.entries(config)) {
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined || value === null || option.asksNothing(value) || isInert(name)) continue;
    const message = `${name} is not supported by this server with the value ${shown(value)}. ${option.description}`;
    report(findings, "unsupported", message, place, name);
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
