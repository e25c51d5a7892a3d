// Part of the sidebar that shows the running jobs with their progress, and the load of the base models.
import type { ServerSummary } from "../../client/api.ts";
import { shortId } from "../components/short-id.ts";
import { State } from "../components/shown.tsx";
import { isAway, summary } from "../live.ts";
import { addressOf } from "../router.ts";

/** Maximum number of jobs and of base models that are shown. */
const shownMax = 3;

export function RunningNow() {
  const now = summary.value;
  return (
    <section class="now" aria-label="Running now">
      <h2>
        Running now
        {isAway.value && <State of="unreachable" />}
      </h2>
      {now !== null && (
        <>
          {now.running_jobs.length === 0 && <span class="muted">No training job</span>}
          <ul>
            {now.running_jobs.slice(0, shownMax).map((job) => (
              <RunningJob key={job.id} job={job} />
            ))}
          </ul>
          {now.bases.slice(0, shownMax).map(({ name, state, requests_running: running }) => (
            <div key={name} class="now-line">
              <span title={name}>{name}</span>
              <small>{state === "loaded" ? `${running ?? 0} running` : state.split(":", 1)[0]}</small>
            </div>
          ))}
        </>
      )}
    </section>
  );
}

function RunningJob({ job }: { readonly job: ServerSummary["running_jobs"][number] }) {
  const { gradient_steps: steps, gradient_steps_total: total, waiting_for: waiting } = job;
  const name = job.model?.split("/").slice(1).join("/") ?? shortId(job.id);
  return (
    <li>
      <a href={addressOf("jobs", [job.id])} title={job.model ?? job.id}>
        {name}
      </a>
      {/* Without a number, which the views of jobs show and may update at other times. */}
      {total !== null && <progress aria-label={`Progress of ${name}`} max={total} value={steps ?? 0} />}
      <small>{waiting !== null ? "waiting" : total === null ? "preparing" : "training"}</small>
    </li>
  );
}
