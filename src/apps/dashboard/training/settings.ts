// Settings of a job that the page offers, as texts of a form. Has no side effects.

/** A setting of the form, with its name in the API for jobs on files and for jobs on trajectories. */
export const offeredSettings = [
  { title: "Learning rate", file: "learning_rate", rl: "learning_rate" },
  { title: "Batch size", file: "batch_size", rl: "batch_size" },
  { title: "Passes over the data", file: "epochs", rl: "passes" },
] as const;

export type SettingName = (typeof offeredSettings)[number]["file" | "rl"];

/** Number of passes that the server makes if the user sets none. It is the same for all kinds of jobs. */
const usualPasses = 1;

/** Returns the number of passes over the data that settings ask for. */
export function passesIn(settings: Readonly<Partial<Record<SettingName, number | string>>>): number {
  const given = Number(settings.epochs ?? settings.passes);
  return given > 0 ? given : usualPasses;
}

/** Returns the settings of a form whose fields are not empty. */
export function settingsIn(data: FormData): Readonly<Partial<Record<SettingName, number>>> {
  const names = new Set<SettingName>(offeredSettings.flatMap(({ file, rl }) => [file, rl]));
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const text = data.get(name);
      return typeof text === "string" && text.trim() !== "" ? [[name, Number(text)]] : [];
    }),
  );
}
