// The configuration of a job in words: its options as they take effect, and its optimizer steps. Pure.
import type { ConfigValue, TrainingJobResource } from "../../client/resources.ts";

/** The options that say most, also where they are 0. */
const first = ["learning_rate", "batch_size", "steps", "passes", "epochs", "weight_decay", "max_grad_norm"];

/** The options of a job as they take effect, without those that are off: `learning_rate 0.0001, passes 1, ...`. */
export function shownConfig(job: TrainingJobResource): string {
  const config = job.experimental_config ?? job.config ?? {};
  const isOff = (name: string): boolean => [null, 0, false].some((off) => config[name] === off);
  const names = [
    ...first.filter((name) => (config[name] ?? null) !== null),
    ...Object.keys(config).filter((name) => !first.includes(name) && !isOff(name)),
  ];
  return names.map((name) => `${name} ${shownValue(config[name])}`).join(", ");
}

/** The learning rate of a job; of a list its ends. */
export function shownRate(job: TrainingJobResource): string {
  return shownValue((job.experimental_config ?? job.config ?? {})["learning_rate"] ?? null);
}

/** How many optimizer steps a job takes over how much; null while that is not known, or was never reported. */
export function shownSteps({ counts, kind }: TrainingJobResource): string | null {
  const steps = counts?.steps ?? null;
  if (counts === null || steps === null) return null;
  const { count, passes, sequences_max: most } = steps;
  const items = kind === "sft" ? `conversations (${counts.sequences} sequences)` : "sequences";
  const number = kind === "sft" ? counts.trajectories : counts.sequences;
  const often = passes === 1 ? "" : `, ${passes} times`;
  return `${count} over ${number} ${items}${often}, up to ${most} ${most === 1 ? "sequence" : "sequences"} each`;
}

function shownValue(value: ConfigValue): string {
  if (!Array.isArray(value)) return String(value);
  const numbers = value as readonly number[];
  return numbers.length < 4 ? numbers.join(" ") : `${numbers[0]} … ${numbers.at(-1)} (${numbers.length})`;
}
