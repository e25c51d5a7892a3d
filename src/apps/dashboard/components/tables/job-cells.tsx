// Cells of job tables: the job's model, and the reward before and after the job with the change.
import type { TrainingJob } from "../../../client/api.ts";
import { shortId } from "../short-id.ts";
import { shortNumber } from "../numbers.ts";
import { State } from "../shown.tsx";
import { Delta } from "../sparkline.tsx";
import { trainedNothing } from "../../views/job-list.ts";

/** Name of the model, below its entity and project in small type; the job's short id if the model was deleted. */
export function JobModel({ job }: { readonly job: Pick<TrainingJob, "id" | "model"> }) {
  return job.model === null ? <>{shortId(job.id)}</> : <ModelName name={job.model} />;
}

/** @param name full name, as `<entity>/<project>/<name>` */
export function ModelName({ name }: { readonly name: string }) {
  const end = name.lastIndexOf("/") + 1;
  return (
    <>
      <small class="path">{name.slice(0, end)}</small>
      {name.slice(end)}
    </>
  );
}

/**
 * State of a job. A job that succeeded without training has a state of its own, since its version did not change. So
 * has a job that succeeded with warnings, since such a job may have made the model worse.
 */
export function JobState({ job }: { readonly job: Pick<TrainingJob, "state" | "counts" | "warnings"> }) {
  const [warning] = job.warnings;
  if (trainedNothing(job)) return <State of="untrained" says="nothing trained" title={warning} />;
  if (job.state !== "succeeded" || warning === undefined) return <State of={job.state} title={warning} />;
  return <State of="warned" says="succeeded, with warnings" title={warning} />;
}

/** A reward before and after the job, and the change. By default, it is the first of the job's rewards. */
export function JobReward({ job, metric }: { readonly job: TrainingJob; readonly metric?: string }) {
  const found =
    metric === undefined ? job.rewards[0] : job.rewards.find((reward) => reward.metric === metric);
  if (found === undefined) return <>–</>;
  return (
    <span title={found.metric}>
      <span class="pair">
        {shortNumber(found.before ?? NaN)} → {shortNumber(found.after ?? NaN)}
      </span>
      <Delta before={found.before} after={found.after} />
    </span>
  );
}
