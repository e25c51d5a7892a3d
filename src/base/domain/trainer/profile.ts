// What the server knows of a trainer: its name and what it can, before it gets a job, and how its saved states are named.
// Jobs that ask for more are refused as they come. The contract of trainers is train/trainer/trainer.ts.
import type { ModelVersion } from "../model.ts";
import { ServiceError } from "../service-error.ts";
import type { PreferenceReference } from "../preferences/preference-config.ts";
import type { BasePrecision } from "./base-precision.ts";

type LossKind = "policy" | "cross-entropy" | "preference";

export interface TrainerProfile {
  /** Is stored with each of its states, so that no other trainer loads them: lowercase letters, digits, hyphens. */
  readonly name: string;
  readonly losses: readonly LossKind[];
  /** Whether a model under training also gives what its base alone would: what a KL penalty compares with, and a metric. */
  readonly hasBasePass: boolean;
  /** Whether the same calls give the same bytes again, which a replay asks. */
  readonly isRepeatable: boolean;
  /** In which it computes products with the base model's weights: float32 at least. */
  readonly basePrecisions: readonly BasePrecision[];
  /** Whether it starts from an adapter's files. One that does not goes on from states alone, which it kept itself. */
  readonly takesAdapters: boolean;
  /** What of an optimizer step it has its own configuration for, or none at all, whatever it is told; nothing where absent. */
  readonly fixedInStep?: readonly string[];
}

/** What each kind of job makes smaller. */
const lossOfKind: { readonly [Kind in TrainerTask["kind"]]: LossKind } = {
  rl: "policy",
  sft: "cross-entropy",
  preference: "preference",
};

/** What of a job decides who can train it. */
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
 * Refuses a job that this trainer cannot do.
 *
 * @param from the version that it would start from
 * @throws ServiceError `invalid` at `model`, `klPenaltyCoefficient`, `reference` or `basePrecision`, with what the trainer
 *   lacks and the cure
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

/** Whoever kept states before their names stood with them. */
const firstTrainer = "embedded";

/** A trainer's state as it is stored: the trainer's name, a colon, and its own word for the state. */
export function storedState(trainer: string, state: string): string {
  return `${trainer}:${state}`;
}

/** What {@link storedState} stored; what older programs stored has no name. */
export function stateOf(stored: string): { readonly trainer: string; readonly state: string } {
  const [, trainer = firstTrainer, state = stored] = /^([a-z][a-z0-9-]*):(.*)$/s.exec(stored) ?? [];
  return { trainer, state };
}

/** The trainer's own word for a stored state; null where there is none, or it is another trainer's. */
export function ownState({ name }: { readonly name: string }, stored: string | null): string | null {
  const kept = stored === null ? null : stateOf(stored);
  return kept?.trainer === name ? kept.state : null;
}
