// Compares the settings of runs. Has no side effects.

/** A setting with its value in each run; null if a run does not have the setting. */
export interface ComparedSetting {
  readonly name: string;
  readonly values: readonly (string | null)[];
  readonly isEqual: boolean;
}

/** Returns the settings of all runs: first those that differ, in the order of the first run that has them. */
export function comparedSettings(
  runs: readonly { readonly settings: ReadonlyMap<string, string> }[],
): readonly ComparedSetting[] {
  const names = [...new Set(runs.flatMap(({ settings }) => [...settings.keys()]))];
  return names
    .map((name) => {
      const values = runs.map(({ settings }) => settings.get(name) ?? null);
      return { name, values, isEqual: values.every((value) => value === values[0]) };
    })
    .toSorted((one, other) => Number(one.isEqual) - Number(other.isEqual));
}
