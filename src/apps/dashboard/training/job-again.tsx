// Form that trains again on the data of an earlier job, with other settings.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortId } from "../components/short-id.ts";
import { Shown } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { settingsOf, trainAgain } from "./again.ts";
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
      of={form}
      values={asked === null ? values : { ...values, learning_rate: asked }}
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
