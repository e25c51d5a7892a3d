// Formats a job's effective options and its optimizer steps. Pure.
import type { TrainingJob } from "../../client/api.ts";

/** Most important options; listed first, and shown even if their value is 0. */
const first = ["learning_rate", "batch_size", "steps", "passes", "epochs", "weight_decay", "max_grad_norm"];

/** Returns the job's enabled options as text, such as `learning_rate 0.0001, passes 1`. */
export function formatConfig(job: TrainingJob): string {
  const config = configOf(job);
  const isOff = (name: string): boolean => [null, 0, false].some((off) => config[name] === off);
  const names = [
    ...first.filter((name) => (config[name] ?? null) !== null),
    ...Object.keys(config).filter((name) => !first.includes(name) && !isOff(name)),
  ];
  return names.map((name) => `${name} ${shownValue(config[name])}`).join(", ");
}

/** Returns a job's learning rate; for a list of more than three rates, the first and the last. */
export function formatRate(job: TrainingJob): string {
  return shownValue(configOf(job)["learning_rate"]);
}

/** Returns the number of optimizer steps, and the amount of data they train on; null if unknown. */
export function formatSteps({ counts, kind }: TrainingJob): string | null {
  const steps = counts?.steps ?? null;
  if (counts === null || steps === null) return null;
  const { count, passes, sequences_max: most } = steps;
  const ofSequences = `(${counts.sequences} sequences)`;
  const [number, items] = {
    rl: [counts.sequences, "sequences"],
    sft: [counts.trajectories, `conversations ${ofSequences}`],
    preference: [counts.trajectories, `preferences ${ofSequences}`],
  }[kind];
  const often = passes === 1 ? "" : `, ${passes} passes`;
  return `${count} on ${number} ${items}${often}, up to ${most} ${most === 1 ? "sequence" : "sequences"} per step`;
}

/** Returns the options of a job of any kind, by name. */
function configOf(job: TrainingJob): Readonly<Record<string, unknown>> {
  return job.experimental_config ?? job.config ?? job.preference_config ?? {};
}

function shownValue(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const numbers = value as readonly number[];
  return numbers.length < 4 ? numbers.join(" ") : `${numbers[0]} … ${numbers.at(-1)} (${numbers.length})`;
}
