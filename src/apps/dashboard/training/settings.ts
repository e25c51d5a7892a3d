// Settings of a job that the page offers, as texts of a form, with the server's defaults. Has no side effects.
import type { TrainingJob } from "../../client/api.ts";
import { counted } from "../components/numbers.ts";

export type JobKind = TrainingJob["kind"];

/** A setting of the form, with its name in the API for jobs on files and for jobs on trajectories. */
export const offeredSettings = [
  { title: "Learning rate", file: "learning_rate", rl: "learning_rate", of: "learningRate" },
  { title: "Batch size", file: "batch_size", rl: "batch_size", of: "batchSize" },
  { title: "Passes over the data", file: "epochs", rl: "passes", of: "passes" },
] as const;

export type SettingName = (typeof offeredSettings)[number]["file" | "rl"];

/** Values of the offered settings. */
export type Chosen = { readonly [Name in (typeof offeredSettings)[number]["of"]]: number };

/**
 * The server's defaults for each kind of jobs. The server setting `training.batchTokens` may choose larger batches for
 * reinforcement jobs.
 */
export const defaults: { readonly [Kind in JobKind]: Chosen } = {
  rl: { learningRate: 1e-4, batchSize: 1, passes: 1 },
  sft: { learningRate: 5e-5, batchSize: 2, passes: 1 },
  preference: { learningRate: 5e-5, batchSize: 8, passes: 1 },
};

/** Returns the settings in effect for the settings of a form, whose empty fields stand for the defaults. */
export function chosenIn(
  kind: JobKind,
  settings: Readonly<Partial<Record<SettingName, number | string | null>>>,
): Chosen {
  const usual = defaults[kind];
  const chosen = (given: number | string | null | undefined, otherwise: number): number =>
    Number(given) > 0 ? Number(given) : otherwise;
  return {
    learningRate: chosen(settings.learning_rate, usual.learningRate),
    batchSize: chosen(settings.batch_size, usual.batchSize),
    passes: chosen(settings.epochs ?? settings.passes, usual.passes),
  };
}

/** Sum of the learning rates of all steps below which the server warns that a job hardly changes answers. */
const reachMin = 5e-4;

/**
 * Returns a warning if a job's steps are too small to change answers; null otherwise.
 *
 * @param exampleCount number of examples that are divided into batches
 */
export function smallStepsWarning(
  { learningRate, batchSize, passes }: Chosen,
  exampleCount: number,
): string | null {
  const stepCount = Math.ceil(exampleCount / batchSize) * passes;
  if (stepCount * learningRate >= reachMin) return null;
  return `With these settings, the job takes ${counted(stepCount, "step")} at a learning rate of ${learningRate}, which hardly changes answers. Raise the learning rate, or take more steps with a smaller batch size or more passes.`;
}

/** Returns a warning of the server with the words of the form instead of the names in the API. */
export function inWords(warning: string): string {
  return warning.replaceAll(/\b(learning|batch)_(rate|size)\b/g, "$1 $2");
}

/** Beginning of the names of fields for other settings, whose texts are JSON. */
export const morePrefix = "more:";

/** Settings in a form; null stands for the default. */
export type Settings = Readonly<Partial<Record<SettingName, number | null>> & Record<string, unknown>>;

/** Returns the settings of the fields of a form. */
export function settingsIn(data: FormData): Settings {
  const names = new Set<string>(offeredSettings.flatMap(({ file, rl }) => [file, rl]));
  return Object.fromEntries(
    [...data].flatMap(([field, entry]) => {
      const name = field.startsWith(morePrefix) ? field.slice(morePrefix.length) : field;
      if (typeof entry !== "string" || (name === field && !names.has(name))) return [];
      return [[name, entry.trim() === "" ? null : valueOf(entry)]];
    }),
  );
}

/** Returns the value of a field's text. A number can have forms that JSON does not have, such as `.5`. */
function valueOf(text: string): unknown {
  const number = Number(text);
  return Number.isNaN(number) ? JSON.parse(text) : number;
}
