// View of training jobs, newest first, with filters, progress, rewards before and after each job, and duration.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { jobItems } from "../../client/job-items.ts";
import { FilterChoice, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { durationText } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";
import { State, View, When } from "../components/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import {
  jobFilters,
  type JobFilters,
  jobKinds,
  jobRewardColumns,
  jobStates,
  ranFor,
  rewardText,
} from "./job-list.ts";
import { rewardTitles } from "./version-curves.ts";

const limit = 50;
const everyMs = 3000;

export function Jobs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = jobFilters(query);
  const after = query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.jobs.list({ ...filters, limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, query.toString()],
    everyMs,
  );
  return (
    <View title="Jobs">
      <JobFilterForm filters={filters} onChange={(chosen) => go(addressOf("jobs", [], chosen))} />
      <PagedTable
        loaded={loaded}
        label="Jobs"
        columns={(jobs) => [
          "job",
          "model",
          "kind",
          "state",
          "progress",
          { number: "data" },
          ...jobRewardColumns(jobs).map((name) => ({ number: name, title: rewardTitles[name] })),
          { number: "duration" },
          "created",
          { number: "version" },
        ]}
        none={() =>
          Object.keys(filters).length === 0
            ? "No training jobs yet."
            : "No training jobs match these filters."
        }
        first={after === "" ? null : addressOf("jobs", [], filters)}
        nextOf={(last) => addressOf("jobs", [], { ...filters, after: last })}
      >
        {(job, _, jobs) => (
          <tr key={job.id}>
            <td>
              <a href={addressOf("jobs", [job.id])} title={job.id} data-row>
                {shortId(job.id)}
              </a>
            </td>
            <td class="model-name">
              <a href={addressOf("models", [job.model_id])}>{job.model ?? shortId(job.model_id)}</a>
            </td>
            <td>{job.kind}</td>
            <td>
              <State of={job.state} />
            </td>
            <td class="how-far">{progressText(job)}</td>
            <td class="number">{itemsText(job)}</td>
            {jobRewardColumns(jobs).map((name) => (
              <td key={name} class="number">
                {rewardText(job, name)}
              </td>
            ))}
            <td class="number">{ranFor(job)}</td>
            <td>
              <When at={job.created_at} />
            </td>
            <td class="number">{job.result_step ?? "–"}</td>
          </tr>
        )}
      </PagedTable>
    </View>
  );
}

function JobFilterForm({
  filters,
  onChange,
}: {
  readonly filters: JobFilters;
  readonly onChange: (filters: JobFilters) => void;
}) {
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) => onChange(jobFilters(filledIn(form)))}
      onClear={() => onChange({})}
    >
      <FilterChoice
        name="state"
        label="State"
        value={filters.state}
        choices={[["", "all"], ...jobStates.map((state) => [state, state] as const)]}
      />
      <FilterChoice name="kind" label="Kind" value={filters.kind} choices={[["", "all"], ...jobKinds]} />
      <FilterText name="model" label="Model" value={filters.model} />
    </FilterForm>
  );
}

function itemsText(job: TrainingJob): string {
  if (job.counts === null) return "–";
  const { one, many } = jobItems(job);
  return `${job.counts.trajectories} ${job.counts.trajectories === 1 ? one : many}`;
}

/** Describes on one line how far a job is, why it waits, or why it failed. */
export function progressText(job: TrainingJob): string {
  if (job.error_message !== null) return job.error_message;
  if (job.waiting_for !== null) return `waiting: ${job.waiting_for}`;
  if (job.phase === null || job.progress === null) return "";
  const {
    prepared,
    prepared_total: preparedTotal,
    gradient_steps: steps,
    gradient_steps_total: total,
  } = job.progress;
  const left = job.seconds_left === null ? "" : `, ${durationText(job.seconds_left)} left`;
  if (job.phase === "training") return `step ${steps} of ${total ?? "?"}${left}`;
  if (job.phase === "publishing") return "publishing the new version";
  return preparedTotal === null ? "preparing" : `preparing ${prepared ?? 0} of ${preparedTotal}${left}`;
}
