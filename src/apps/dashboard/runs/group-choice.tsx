// Choice of the setting by which the view Runs groups its runs.
import type { LoadedRun } from "./load-run.ts";
import { comparedSettings } from "./run-settings.ts";

export function GroupChoice({
  runs,
  value,
  onChange,
}: {
  readonly runs: readonly LoadedRun[];
  readonly value: string;
  readonly onChange: (setting: string) => void;
}) {
  const differing = comparedSettings(runs).filter(({ isEqual }) => !isEqual);
  const names = new Set([...(value === "" ? [] : [value]), ...differing.map(({ name }) => name)]);
  if (names.size === 0) return null;
  return (
    <label class="group-choice">
      Group by
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">no setting: a line per run</option>
        {[...names].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
