// Form that trains again on the data of an earlier job, with other settings.
import { useState } from "preact/hooks";
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortId } from "../components/short-id.ts";
import { Shown } from "../components/shown.tsx";
import { addressOf, go } from "../router.ts";
import { messageOf, useLoaded } from "../use-loaded.ts";
import { trainAgain } from "./again.ts";
import { SettingsFields } from "./settings-fields.tsx";
import { settingsIn } from "./settings.ts";

export function JobAgain({ hone, jobId }: { readonly hone: Hone; readonly jobId: string }) {
  const loaded = useLoaded((signal) => hone.jobs.get(jobId, { signal }), [hone, jobId]);
  return <Shown loaded={loaded}>{(job) => <AgainForm hone={hone} job={job} />}</Shown>;
}

function AgainForm({ hone, job }: { readonly hone: Hone; readonly job: TrainingJob }) {
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const create = async (form: HTMLFormElement): Promise<void> => {
    setIsBusy(true);
    setFailure(null);
    try {
      go(addressOf("jobs", [await trainAgain(hone, job, settingsIn(new FormData(form)))]));
    } catch (error) {
      setFailure(messageOf(error));
      setIsBusy(false);
    }
  };
  if (job.kind !== "rl")
    return (
      <p>
        The data of this job came from a file, which Hone does not keep.{" "}
        <a href={addressOf("train", [], { model: job.model_id })}>Upload the file again</a>
      </p>
    );
  const config = job.experimental_config ?? {};
  const values = Object.fromEntries(
    ["learning_rate", "batch_size", "passes"].map((name) => [name, String(config[name] ?? "")]),
  );
  return (
    <form
      class="stacked"
      aria-label="Training job"
      onSubmit={(event) => {
        event.preventDefault();
        void create(event.currentTarget);
      }}
    >
      <p>
        Trains <a href={addressOf("models", [job.model_id])}>{job.model ?? "the model"}</a> on the data of job{" "}
        <a href={addressOf("jobs", [job.id])}>{shortId(job.id)}</a>. The new job starts from the newest
        version of the model.
      </p>
      <SettingsFields of="rl" values={values} />
      {failure !== null && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      <button type="submit" disabled={isBusy}>
        {isBusy ? "Creating the job …" : "Start the job"}
      </button>
    </form>
  );
}
