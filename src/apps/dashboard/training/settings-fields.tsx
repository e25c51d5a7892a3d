// Fields for the settings of a job. Empty fields stand for the defaults.
import { defaults, type JobKind, offeredSettings, type SettingName } from "./settings.ts";

export function SettingsFields({
  kind,
  values,
}: {
  readonly kind: JobKind;
  readonly values: Readonly<Partial<Record<SettingName, string>>>;
}) {
  return (
    <div class="fields">
      {offeredSettings.map(({ title, of, [kind === "rl" ? "rl" : "file"]: name }) => (
        <label key={name}>
          {title}
          <input
            name={name}
            type="number"
            min={0}
            step="any"
            placeholder={`${defaults[kind][of]} (default)`}
            defaultValue={values[name] ?? ""}
          />
        </label>
      ))}
    </div>
  );
}
