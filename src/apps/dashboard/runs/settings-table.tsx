// Table of the settings in which runs differ, and a list of those that are equal.
import { sampleStyle } from "../charts/curve.ts";
import { counted } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import type { LoadedRun } from "./load-run.ts";
import { comparedSettings } from "./run-settings.ts";

export function SettingsTable({
  runs,
  colourOf,
}: {
  readonly runs: readonly LoadedRun[];
  /** Returns the number of the line that shows a run: its own line, or the line of its group. */
  readonly colourOf: (run: LoadedRun) => number;
}) {
  const settings = comparedSettings(runs);
  const differing = settings.filter(({ isEqual }) => !isEqual);
  const equal = settings.filter(({ isEqual }) => isEqual);
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      {differing.length === 0 ? (
        <p>All settings are equal.</p>
      ) : (
        <WideTable label="Settings that differ">
          <thead>
            <tr>
              <th scope="col">setting</th>
              {runs.map((run) => (
                <th key={run.id} scope="col">
                  <span class="run" style={sampleStyle(colourOf(run))}>
                    {run.name}
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differing.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row" title={name}>
                  {name}
                </th>
                {values.map((value, index) => (
                  <td key={index}>{value ?? "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </WideTable>
      )}
      {equal.length > 0 && (
        <details>
          <summary>{counted(equal.length, "equal setting")}</summary>
          <ul>
            {equal.map(({ name, values }) => (
              <li key={name}>
                {name} <strong>{values[0]}</strong>
              </li>
            ))}
          </ul>
        </details>
      )}
      {runs.length > 0 && runs.every(({ address }) => address.startsWith(addressOf("models"))) && (
        <p class="muted">The settings of a model are those of its last job.</p>
      )}
    </section>
  );
}
