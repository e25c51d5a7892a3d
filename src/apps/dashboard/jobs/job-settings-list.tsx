// Part of the view of a job: its settings. Settings that differ from the defaults are bold.
import type { TrainingJob } from "../../client/api.ts";
import { counted } from "../components/numbers.ts";
import { type JobSetting, jobSettings } from "./job-settings.ts";

export function JobSettings({ job }: { readonly job: TrainingJob }) {
  const settings = jobSettings(job);
  const changed = settings.filter(({ isChanged }) => isChanged);
  const defaults = settings.filter(({ isChanged }) => !isChanged);
  if (settings.length === 0) return null;
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      {changed.length === 0 ? <p>All settings have their defaults.</p> : <SettingList of={changed} />}
      <details>
        <summary>{counted(defaults.length, "setting")} with default values</summary>
        <SettingList of={defaults} />
      </details>
    </section>
  );
}

function SettingList({ of }: { readonly of: readonly JobSetting[] }) {
  return (
    <dl class="facts metrics">
      {of.map(({ name, text, isChanged }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{isChanged ? <strong>{text}</strong> : text}</dd>
        </div>
      ))}
    </dl>
  );
}
