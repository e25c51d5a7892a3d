// The configuration of a job in words: its options as they take effect, and its optimizer steps. Pure.
import type { TrainingJob } from "../../client/api.ts";

/** The options that say most, also where they are 0. */
const first = ["learning_rate", "batch_size", "steps", "passes", "epochs", "weight_decay", "max_grad_norm"];

/** The options of a job as they take effect, without those that are off: `learning_rate 0.0001, passes 1, ...`. */
export function shownConfig(job: TrainingJob): string {
  const config = configOf(job);
  const isOff = (name: string): boolean => [null, 0, false].some((off) => config[name] === off);
  const names = [
    ...first.filter((name) => (config[name] ?? null) !== null),
    ...Object.keys(config).filter((name) => !first.includes(name) && !isOff(name)),
  ];
  return names.map((name) => `${name} ${shownValue(config[name])}`).join(", ");
}

/** The learning rate of a job; of a list its ends. */
export function shownRate(job: TrainingJob): string {
  return shownValue(configOf(job)["learning_rate"]);
}

/** How many optimizer steps a job takes over how much; null while that is not known, or was never reported. */
export function shownSteps({ counts, kind }: TrainingJob): string | null {
  const steps = counts?.steps ?? null;
  if (counts === null || steps === null) return null;
  const { count, passes, sequences_max: most } = steps;
  const ofSequences = `(${counts.sequences} sequences)`;
  const [number, items] = {
    rl: [counts.sequences, "sequences"],
    sft: [counts.trajectories, `conversations ${ofSequences}`],
    preference: [counts.trajectories, `preferences ${ofSequences}`],
  }[kind];
  const often = passes === 1 ? "" : `, ${passes} times`;
  return `${count} over ${number} ${items}${often}, up to ${most} ${most === 1 ? "sequence" : "sequences"} each`;
}

/** The options of a job of any kind, by name. */
function configOf(job: TrainingJob): Readonly<Record<string, unknown>> {
  return job.experimental_config ?? job.config ?? job.preference_config ?? {};
}

function shownValue(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const numbers = value as readonly number[];
  return numbers.length < 4 ? numbers.join(" ") : `${numbers[0]} … ${numbers.at(-1)} (${numbers.length})`;
}
