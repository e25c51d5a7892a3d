// Options of other trainers that this one does not have. A value that asks for this trainer's behaviour is accepted.
// Any other is refused, because a refused job is better than one that does not train as its options say.
import type { TProperties } from "typebox";
import { Type } from "typebox";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { is, never, type AsksNothing } from "../body.ts";
import { nullable } from "../nullable.ts";

interface ForeignOption {
  /** True for values that ask for nothing but this trainer's behaviour. Null is always accepted. */
  readonly asksNothing: AsksNothing;
  readonly description: string;
}

const accepted = (description: string): ForeignOption => ({ asksNothing: () => true, description });
const refused = (description: string): ForeignOption => ({ asksNothing: never, description });
const only = (value: unknown, description: string): ForeignOption => ({
  asksNothing: is(value),
  description,
});

const ofModel =
  "The model decides the shape of adapters: set lora_rank, lora_alpha and target_modules when you register it, before its first job.";
const noSchedule = "The learning rate is constant within a job; send several jobs with different rates.";
const ofOptimizer = "The optimizer is AdamW with betas of 0.9 and 0.99.";

/** Options for jobs of all kinds. */
const ofAllJobs: Readonly<Record<string, ForeignOption>> = {
  adam_beta1: only(0.9, ofOptimizer),
  adam_beta2: only(0.99, ofOptimizer),
  adam_epsilon: only(1e-8, "The optimizer is AdamW with an epsilon of 1e-8."),
  adam_params: refused(`${ofOptimizer} Its weight_decay and max_grad_norm are separate options.`),
  final_training_step: accepted("Every job makes a version."),
  gradient_accumulation_steps: only(1, "Set batch_size, the sequences per step."),
  lora_alpha: refused(ofModel),
  lora_config: refused(ofModel),
  lora_dropout: only(0, "Adapters train without dropout."),
  lora_rank: refused(ofModel),
  lr_scheduler: only("constant", noSchedule),
  lr_scheduler_type: only("constant", noSchedule),
  max_steps: only(-1, "Set steps and passes, or batch_size."),
  optim: { asksNothing: is("adamw", "adamw_torch"), description: ofOptimizer },
  optimizer_save_interval: accepted("The optimizer's state is stored with every version."),
  peft_args: refused(ofModel),
  save_checkpoint: only(true, "Every job makes a version."),
  seed: refused("The content of a job determines its random choices: the same job trains the same."),
  start_step: refused("A job starts from the model's newest version."),
  target_modules: refused(ofModel),
  warmup_ratio: only(0, noSchedule),
  warmup_steps: only(0, noSchedule),
};

const ofClipping = "Set epsilon and epsilon_high: ratios are clipped to [1 - epsilon, 1 + epsilon_high].";
const ofEntropy = "The loss has no entropy term; sample at a higher temperature, or lower learning_rate.";
const ofKl = "Set kl_penalty_coef, which moves advantages; there is no KL term in the loss.";
const ofLoss = "The loss is the mean over a step's tokens, with equal weight for each trajectory.";
const ofTruncated =
  "Truncated answers train like others, by the reward that you give them; leave their trajectories out, or reward them less.";

/** Options of reinforcement learning. */
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
  dynamic_sampling: only(false, "A group whose rewards are all equal is skipped; send others."),
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
  kl_penalty_reference_step: only(0, "The base model, step 0, is the reference."),
  kl_penalty_step_lag: refused("The base model, step 0, is the reference, and does not move."),
  kl_ref_adapter_path: refused("The base model, step 0, is the reference."),
  logprob_calculation_chunk_size: accepted("Server settings control the memory of training."),
  loss_fn_config: refused("Options of the loss are on the same level as loss_fn."),
  lam: only(1, "Advantages are those of the group; there is no critic."),
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
  moe_routing_replay_bundle: refused("There are no experts to route to."),
  moe_routing_replay_path: refused("There are no experts to route to."),
  moe_routing_replay_strict: accepted("There are no experts to route to."),
  num_iterations: only(1, "Set passes."),
  overlong_buffer_len: refused(ofTruncated),
  overlong_filtering: only(false, ofTruncated),
  plot_tensors: only(false, "Nothing is plotted."),
  policy_loss_type: refused("Set loss_fn to cispo or ppo."),
  ppo_epochs: only(1, "Set passes."),
  ppo_mini_batch_size: refused("Set batch_size, the sequences per step."),
  reward_weights: refused("A trajectory has one reward; weigh its parts before sending it."),
  scale_learning_rate_by_reward_std_dev: only(false, "The learning rate does not follow the rewards."),
  sync_ref_model: only(false, "The base model, step 0, is the reference, and does not move."),
  target_kl: refused("Set max_kl_update, above which a job fails; steps do not end early."),
  top_entropy_quantile: only(1, "All tokens of an answer train."),
  use_entropy_loss: only(false, ofEntropy),
  use_kl_loss: only(false, ofKl),
};

/** Options of preference training, under the names of TRL. */
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
  precompute_ref_log_probs: accepted("They are computed once, before the first step."),
  reference_free: only(false, "Set loss to simpo, which has no reference."),
  rpo_alpha: refused("The losses have no likelihood term."),
  simpo_gamma: refused("Set gamma."),
  sync_ref_model: only(false, "The reference does not move within a job."),
};

export const foreignOptions = { rl: ofReinforcement, sft: ofAllJobs, preference: ofPreferences } as const;

/** Returns the options as properties of a settings schema. */
export function foreignProperties(options: Readonly<Record<string, ForeignOption>>): TProperties {
  return Object.fromEntries(
    Object.entries(options).map(([name, { asksNothing, description }]) => [
      name,
      nullable(Type.Unknown(), { description: `${acceptanceOf(asksNothing)} ${description}` }),
    ]),
  );
}

function acceptanceOf(asksNothing: AsksNothing): string {
  if (asksNothing === never) return "Refused.";
  return asksNothing(undefined) ? "Accepted." : "Refused with a value that asks for anything else.";
}

/**
 * Adds a fault for each of these options that asks for something unsupported.
 *
 * @param isInert true for options without effect in these settings, with any value
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
