// List of the shown runs, with links and buttons that remove a run.
import { colourCount } from "../charts/curve.ts";
import { JobState } from "../components/tables/job-cells.tsx";
import type { LoadedRun } from "./load-run.ts";

export function RunList({
  runs,
  label = "Runs",
  classOf: classOfRun = () => "",
  onRemove,
}: {
  readonly runs: readonly LoadedRun[];
  readonly label?: string;
  readonly classOf?: (run: LoadedRun) => string;
  readonly onRemove: (id: string) => void;
}) {
  return (
    <ul class="chart-runs" aria-label={label}>
      {runs.map((run) => (
        <li key={run.id} class={classOfRun(run)}>
          <a href={run.address}>{run.name}</a>
          {run.job !== null && (run.job.state !== "succeeded" || run.job.warnings.length > 0) && (
            <JobState job={run.job} />
          )}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${run.name}`}
            onClick={() => onRemove(run.id)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Returns the class of an element that has the colour with this number. */
export function runClass(colour = 0): string {
  return `run run-${colour % colourCount}`;
}
