// View of training jobs, newest first, with filters, progress, rewards before and after each job, and duration.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { jobItems } from "../../client/job-items.ts";
import { Empty } from "../components/empty.tsx";
import { FilterChoice, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { JobModel, JobReward } from "../components/tables/job-cells.tsx";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { shortId } from "../components/short-id.ts";
import { State, View, When } from "../components/shown.tsx";
import { jobsChanged, summary } from "../live.ts";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import {
  jobFilters,
  type JobFilters,
  jobKinds,
  jobRewardColumns,
  jobStates,
  progressText,
  ranFor,
} from "./job-list.ts";
import { rewardTitles } from "./version-curves.ts";

const limit = 50;

export function Jobs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = jobFilters(query);
  const after = query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.jobs.list({ ...filters, limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, query.toString(), jobsChanged.value],
  );
  return (
    <View title="Jobs" lead="Training jobs of all models, the newest first.">
      <JobFilterForm filters={filters} onChange={(chosen) => go(addressOf("jobs", [], chosen))} />
      <PagedTable
        loaded={loaded}
        label="Jobs"
        columns={(jobs) => [
          "model",
          "job",
          "kind",
          "state",
          ...jobRewardColumns(jobs).map((name) => ({ name, title: rewardTitles[name] })),
          { number: "data" },
          { number: "duration" },
          "created",
          { number: "version" },
        ]}
        none={() =>
          Object.keys(filters).length === 0 ? <NoJobs /> : "No training jobs match these filters."
        }
        first={after === "" ? null : addressOf("jobs", [], filters)}
        nextOf={(last) => addressOf("jobs", [], { ...filters, after: last })}
      >
        {(job, _, jobs) => (
          <tr key={job.id}>
            <td class="model-name">
              <a href={addressOf("models", [job.model_id])}>
                <JobModel job={job} />
              </a>
            </td>
            <td>
              <a href={addressOf("jobs", [job.id])} title={job.id} data-row>
                <code>{shortId(job.id)}</code>
              </a>
            </td>
            <td>{job.kind}</td>
            <td class="how-far">
              <State of={job.state} />
              <Progress job={job} />
            </td>
            {jobRewardColumns(jobs).map((name) => (
              <td key={name} class="reward">
                <JobReward job={job} metric={name} />
              </td>
            ))}
            <td class="number">{itemsText(job)}</td>
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

/** How far a running job is, or why a job waits or failed. The live summary is newer than the list. */
function Progress({ job }: { readonly job: TrainingJob }) {
  const live = summary.value?.running_jobs.find(({ id }) => id === job.id);
  const total = live?.gradient_steps_total ?? null;
  if (live !== undefined && total !== null && live.waiting_for === null)
    return (
      <small class="progress">
        <progress
          aria-label={`Progress of job ${shortId(job.id)}`}
          max={total}
          value={live.gradient_steps ?? 0}
        />
        step {live.gradient_steps ?? 0} of {total}
      </small>
    );
  const text = progressText(job);
  return text === "" ? null : <small class="progress">{text}</small>;
}

function NoJobs() {
  return (
    <Empty icon="jobs" title="No training jobs yet" commands={[`npx hone demo --url ${location.origin}`]}>
      A job trains a model on answers with rewards, on examples, or on preferences. The demo creates some.
    </Empty>
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
