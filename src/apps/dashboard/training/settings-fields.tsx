// Fields for the settings of a job. Empty fields stand for the defaults.
import { offeredSettings, type SettingName } from "./settings.ts";

export function SettingsFields({
  of,
  values,
}: {
  /** Data of the job: a file or trajectories. */
  readonly of: "file" | "rl";
  readonly values: Readonly<Partial<Record<SettingName, string>>>;
}) {
  return (
    <div class="fields">
      {offeredSettings.map(({ title, [of]: name }) => (
        <label key={name}>
          {title}
          <input
            name={name}
            type="number"
            min={0}
            step="any"
            placeholder="default"
            defaultValue={values[name] ?? ""}
          />
        </label>
      ))}
    </div>
  );
}
