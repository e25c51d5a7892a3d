// Profile of a trainer: its name, its capabilities, and the names of its saved states. If a trainer lacks a capability
// that a job needs, the server refuses the job when it is submitted. The contract of trainers is in
// train/trainer/trainer.ts.
import type { ModelVersion } from "../model.ts";
import { ServiceError } from "../service-error.ts";
import type { PreferenceReference } from "../preferences/preference-config.ts";
import type { BasePrecision } from "./base-precision.ts";

type LossKind = "policy" | "cross-entropy" | "preference";

export interface TrainerProfile {
  /**
   * Name of the trainer, of lowercase letters, digits and hyphens. It is stored with each state of the trainer, so that
   * no other trainer loads the state.
   */
  readonly name: string;
  readonly losses: readonly LossKind[];
  /**
   * True if the trainer can also compute the base model's log-probabilities, which a KL penalty and the KL metric need.
   */
  readonly hasBasePass: boolean;
  /** True if the same calls always give identical bytes, which a replay needs. */
  readonly isRepeatable: boolean;
  /** Precisions in which the trainer can multiply with the base model's weights. Contains at least float32. */
  readonly basePrecisions: readonly BasePrecision[];
  /**
   * True if the trainer can start from the files of any adapter. False if it can only continue from its own saved
   * states.
   */
  readonly takesAdapters: boolean;
  /** Options of an optimizer step that this trainer fixes: it ignores the job's values. Absent if there are none. */
  readonly fixedInStep?: readonly string[];
}

/** Loss that each kind of job uses. */
const lossOfKind: { readonly [Kind in TrainerTask["kind"]]: LossKind } = {
  rl: "policy",
  sft: "cross-entropy",
  preference: "preference",
};

/** Properties of a job that decide whether a trainer can run it. */
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
 * @param from version from which the job starts
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

/** Trainer of stored states that lack a trainer's name. Older versions of Hone stored such states. */
const firstTrainer = "embedded";

/** Returns the stored form of a state: the trainer's name, a colon, and the trainer's own name for the state. */
export function storedState(trainer: string, state: string): string {
  return `${trainer}:${state}`;
}

/** Parses a {@link storedState}. States that older versions of Hone stored lack the trainer's name. */
export function stateOf(stored: string): { readonly trainer: string; readonly state: string } {
  const [, trainer = firstTrainer, state = stored] = /^([a-z][a-z0-9-]*):(.*)$/s.exec(stored) ?? [];
  return { trainer, state };
}

/** Returns the trainer's own name for a stored state; null if there is no state, or it belongs to another trainer. */
export function ownState({ name }: { readonly name: string }, stored: string | null): string | null {
  const kept = stored === null ? null : stateOf(stored);
  return kept?.trainer === name ? kept.state : null;
}
