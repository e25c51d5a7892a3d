// List of the shown runs, with links and buttons that remove a run.
import { sampleStyle } from "../charts/curve.ts";
import { JobState } from "../components/tables/job-cells.tsx";
import type { LoadedRun } from "./load-run.ts";

export function RunList({
  runs,
  label = "Runs",
  hasSamples = false,
  onRemove,
}: {
  readonly runs: readonly LoadedRun[];
  readonly label?: string;
  /** True to show a sample of each run's lines. */
  readonly hasSamples?: boolean;
  readonly onRemove: (id: string) => void;
}) {
  return (
    <ul class="chart-runs" aria-label={label}>
      {runs.map((run) => (
        <li key={run.id} {...(hasSamples && { class: "run", style: sampleStyle(run.colour) })}>
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
