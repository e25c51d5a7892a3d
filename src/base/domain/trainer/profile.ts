// Profile of a trainer: its name, its capabilities, and the names of its saved states. A job that needs a missing
// capability is refused on submission. The contract of trainers is train/trainer/trainer.ts.
import type { ModelVersion } from "../model.ts";
import { ServiceError } from "../service-error.ts";
import type { PreferenceReference } from "../preferences/preference-config.ts";
import type { BasePrecision } from "./base-precision.ts";

type LossKind = "policy" | "cross-entropy" | "preference";

export interface TrainerProfile {
  /**
   * Name of the trainer: lowercase letters, digits, hyphens. It is stored with each state, so that no other trainer
   * loads the state.
   */
  readonly name: string;
  readonly losses: readonly LossKind[];
  /** True if the trainer can also compute the base model's log-probabilities, which a KL penalty and a KL metric need. */
  readonly hasBasePass: boolean;
  /** True if repeating the same calls gives identical bytes, which a replay needs. */
  readonly isRepeatable: boolean;
  /** Supported precisions of multiplications with the base model's weights. Contains at least float32. */
  readonly basePrecisions: readonly BasePrecision[];
  /** True if the trainer can start from an adapter's files. Otherwise it can only continue from its own saved states. */
  readonly takesAdapters: boolean;
  /** Options of an optimizer step that the trainer sets itself, ignoring the job's values; absent if there are none. */
  readonly fixedInStep?: readonly string[];
}

/** Loss of each kind of job. */
const lossOfKind: { readonly [Kind in TrainerTask["kind"]]: LossKind } = {
  rl: "policy",
  sft: "cross-entropy",
  preference: "preference",
};

/** Properties of a job that decide which trainer can run it. */
export type TrainerTask =
  | {
      readonly kind: "rl";
      readonly config: {
        readonly klPenaltyCoefficient: number;
        readonly basePrecision: BasePrecision | null;
      };
    }
  | { readonly kind: "sft"; readonly config: { readonly basePrecision: BasePrecision | null } }
  | {
      readonly kind: "preference";
      readonly config: {
        readonly reference: PreferenceReference | null;
        readonly basePrecision: BasePrecision | null;
      };
    };

/**
 * Refuses a job that this trainer cannot run.
 *
 * @param from version that the job starts from
 * @throws ServiceError `invalid` at `model`, `klPenaltyCoefficient`, `reference` or `basePrecision`, with the missing
 * capability and the cure
 */
export function requireTrainerFor(
  trainer: TrainerProfile,
  task: TrainerTask,
  from: Pick<ModelVersion, "adapterFolder" | "trainerState">,
): void {
  const named = `the trainer of this server, ${trainer.name},`;
  const loss = lossOfKind[task.kind];
  if (!trainer.losses.includes(loss))
    throw refusal(
      "model",
      `Jobs of kind ${task.kind} need the loss ${loss}, and ${named} computes ${trainer.losses.join(", ")} alone.`,
    );
  const penalty = task.kind === "rl" ? task.config.klPenaltyCoefficient : 0;
  if (penalty > 0 && !trainer.hasBasePass)
    throw refusal(
      "klPenaltyCoefficient",
      `\`klPenaltyCoefficient\` is ${penalty}, and ${named} does not compute the base model beside one that ` +
        "it trains; leave it out, or set it to 0.",
    );
  if (task.kind === "preference" && task.config.reference === "base" && !trainer.hasBasePass)
    throw refusal(
      "reference",
      `\`reference\` is base, and ${named} does not compute the base model beside one that it trains; set it to start.`,
    );
  const { basePrecision } = task.config;
  if (basePrecision !== null && !trainer.basePrecisions.includes(basePrecision))
    throw refusal(
      "basePrecision",
      `\`basePrecision\` is ${basePrecision}, and ${named} computes in ${trainer.basePrecisions.join(", ")} alone; leave it out.`,
    );
  const needsAdapter = from.adapterFolder !== null && ownState(trainer, from.trainerState) === null;
  if (needsAdapter && !trainer.takesAdapters)
    throw refusal(
      "model",
      `The job would start from an adapter of which ${named} keeps no state, and it takes no adapters. Train a new model, or ` +
        "delete this one's versions down to one whose state is kept (has_optimizer_state).",
    );
}

function refusal(field: string, message: string): ServiceError {
  return new ServiceError({ code: "invalid", faults: [{ location: [field], message, type: "value_error" }] });
}

/** Trainer to which states without a trainer's name belong. */
const firstTrainer = "embedded";

/** Returns the stored form of a state: the trainer's name, a colon, and the trainer's own name of the state. */
export function storedState(trainer: string, state: string): string {
  return `${trainer}:${state}`;
}

/** Parses a {@link storedState}. States from older versions have no trainer's name. */
export function stateOf(stored: string): { readonly trainer: string; readonly state: string } {
  const [, trainer = firstTrainer, state = stored] = /^([a-z][a-z0-9-]*):(.*)$/s.exec(stored) ?? [];
  return { trainer, state };
}

/** Returns the trainer's own name of a stored state; null if there is none or it belongs to another trainer. */
export function ownState({ name }: { readonly name: string }, stored: string | null): string | null {
  const kept = stored === null ? null : stateOf(stored);
  return kept?.trainer === name ? kept.state : null;
}
