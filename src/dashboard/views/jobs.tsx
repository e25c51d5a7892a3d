// Training jobs, the newest first, with how far each is.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { jobItems } from "../../client/job-items.ts";
import { durationText } from "../parts/numbers.ts";
import { listed, PagedTable } from "../parts/paged-table.tsx";
import { shortId } from "../parts/short-id.ts";
import { State, View, When } from "../parts/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 50;
const everyMs = 3000;

export function Jobs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const [after, model] = [query.get("after") ?? "", query.get("model") ?? ""];
  const loaded = useLoaded(
    async (signal) =>
      listed(
        await hone.jobs
          .list(
            { limit, ...(after !== "" && { after }), ...(model !== "" && { model_id: model }) },
            { signal },
          )
          .first(),
      ),
    [hone, after, model],
    everyMs,
  );
  return (
    <View title="Jobs">
      {model !== "" && (
        <p>
          Of <a href={addressOf("models", [model])}>one model</a>. <a href={addressOf("jobs")}>All jobs</a>
        </p>
      )}
      <PagedTable
        loaded={loaded}
        label="Jobs"
        columns={["job", "kind", "state", "how far", { number: "trains on" }, "created", "version"]}
        none={() => "No training job yet."}
        first={after === "" ? null : addressOf("jobs", [], { model })}
        nextOf={(last) => addressOf("jobs", [], { model, after: last })}
      >
        {(job) => (
          <tr key={job.id}>
            <td>
              <a href={addressOf("jobs", [job.id])} title={job.id} data-row>
                {shortId(job.id)}
              </a>
            </td>
            <td>{job.kind}</td>
            <td>
              <State of={job.state} />
            </td>
            <td>{progressText(job)}</td>
            <td class="number">{itemsText(job)}</td>
            <td>
              <When at={job.created_at} />
            </td>
            <td>{job.result_step ?? "–"}</td>
          </tr>
        )}
      </PagedTable>
    </View>
  );
}

function itemsText(job: TrainingJob): string {
  if (job.counts === null) return "–";
  const { one, many } = jobItems(job);
  return `${job.counts.trajectories} ${job.counts.trajectories === 1 ? one : many}`;
}

/** How far a job is, what it waits for, or why it failed, in a line. */
export function progressText(job: TrainingJob): string {
  if (job.error_message !== null) return job.error_message;
  if (job.waiting_for !== null) return `waits for ${job.waiting_for}`;
  if (job.phase === null || job.progress === null) return "";
  const {
    prepared,
    prepared_total: preparedTotal,
    gradient_steps: steps,
    gradient_steps_total: total,
  } = job.progress;
  const left = job.seconds_left === null ? "" : `, ${durationText(job.seconds_left)} left`;
  if (job.phase === "training") return `step ${steps} of ${total ?? "?"}${left}`;
  if (job.phase === "publishing") return "publishes its version";
  return preparedTotal === null ? "prepares" : `prepares ${prepared ?? 0} of ${preparedTotal}${left}`;
}
