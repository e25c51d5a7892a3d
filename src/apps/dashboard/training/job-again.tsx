// Form that trains again on the data of an earlier job, with other settings.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortId } from "../components/short-id.ts";
import { Shown } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { changedSettings, settingsOf, trainAgain } from "./again.ts";
import { JobEstimate } from "./job-estimate.tsx";
import { JobForm } from "./job-form.tsx";
import { offeredSettings } from "./settings.ts";

export function JobAgain({ hone, jobId }: { readonly hone: Hone; readonly jobId: string }) {
  const loaded = useLoaded((signal) => hone.jobs.get(jobId, { signal }), [hone, jobId]);
  return <Shown loaded={loaded}>{(job) => <AgainForm hone={hone} job={job} />}</Shown>;
}

function AgainForm({ hone, job }: { readonly hone: Hone; readonly job: TrainingJob }) {
  const { config, form } = settingsOf(job);
  const values = Object.fromEntries(
    offeredSettings.map(({ [form]: name }) => [
      name,
      typeof config[name] === "number" ? String(config[name]) : "",
    ]),
  );
  const asked = place.value.query.get("learning_rate");
  return (
    <JobForm
      hone={hone}
      kind={job.kind}
      earlier={changedSettings(job)}
      values={asked === null ? values : { ...values, learning_rate: asked }}
      preview={(chosen) =>
        job.counts !== null && (
          <JobEstimate hone={hone} modelId={job.model_id} size={sizeOf(job, job.counts)} chosen={chosen} />
        )
      }
      create={(settings) => trainAgain(hone, job, settings)}
    >
      <p>
        Trains <a href={addressOf("models", [job.model_id])}>{job.model ?? "the model"}</a> on the data of job{" "}
        <a href={addressOf("jobs", [job.id])}>{shortId(job.id)}</a>. The new job starts from the newest
        version of the model.
      </p>
    </JobForm>
  );
}

/** Settings that the new job keeps, and with which the number of steps or their learning rates are others. */
const stepSettings = new Set([
  "steps",
  "packed_sequence_length",
  "num_trajectories_learning_rate_multiplier_power",
]);

/** Returns the size of a job on the same data. The time is that of the earlier job. */
function sizeOf(job: TrainingJob, counts: NonNullable<TrainingJob["counts"]>) {
  const { kind, state, duration_seconds: duration, config_changed: changed, config } = job;
  const isOther = changed.some((name) => stepSettings.has(name)) || Array.isArray(config?.learning_rate);
  const isMeasured = state === "succeeded" && duration !== null;
  return {
    trainedTokens: counts.trainable_tokens,
    exampleCount: isOther ? null : kind === "rl" ? counts.sequences : counts.trajectories,
    seconds: isMeasured ? duration / (counts.steps?.passes ?? 1) : null,
  };
}
