// View of training jobs, newest first, with filters, progress, rewards before and after each job, and duration.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { jobItems } from "../../client/job-items.ts";
import { metricText } from "../charts/metric-texts.ts";
import { Empty } from "../components/empty.tsx";
import { FilterChoice, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { JobModel, JobReward, JobState } from "../components/tables/job-cells.tsx";
import { Icon } from "../components/icon.tsx";
import { counted } from "../components/numbers.ts";
import { listed } from "../components/paged-table.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { shortId } from "../components/short-id.ts";
import { View, When } from "../components/shown.tsx";
import { costColumns } from "../components/tables/cost-columns.ts";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import { JobActions } from "../jobs/job-actions.tsx";
import { jobsChanged, summary } from "../live.ts";
import { addressOf, go, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import {
  jobFilters,
  type JobFilters,
  jobKinds,
  jobQuery,
  jobRewardColumns,
  jobStates,
  kindTitle,
  progressText,
  ranFor,
} from "./job-list.ts";

const limit = 50;

export function Jobs({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = jobFilters(query);
  const after = query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(
        await hone.jobs
          .list({ ...jobQuery(filters), limit, ...(after !== "" && { after }) }, { signal })
          .first(),
      ),
    [hone, JSON.stringify(filters), after, jobsChanged.value],
  );
  const selection = useSelection<TrainingJob>(({ id }) => id);
  return (
    <View
      title="Jobs"
      lead="Training jobs of all models, the newest first."
      actions={
        <>
          <SavedViews />
          {may("train") && (
            <a class="button primary" href={addressOf("train")}>
              <Icon of="plus" /> New job
            </a>
          )}
        </>
      }
    >
      <JobFilterForm
        filters={filters}
        onChange={(chosen) => go(addressOf("jobs", [], { ...chosen, ...layoutIn(query) }))}
      />
      <DataList
        loaded={loaded}
        label="Jobs"
        columns={jobColumns}
        idOf={({ id }) => id}
        nameOf={({ id }) => `job ${shortId(id)}`}
        selection={selection}
        toolbar={(jobs, tableOf) => (
          <JobActions
            hone={hone}
            jobs={jobs}
            table={() => tableOf(jobs)}
            onDone={() => {
              selection.clear();
              loaded.reload();
            }}
          />
        )}
        filters={filters}
        none={() =>
          Object.keys(filters).length === 0 ? <NoJobs /> : "No training jobs match these filters."
        }
      />
    </View>
  );
}

function jobColumns(jobs: readonly TrainingJob[]): readonly DataColumn<TrainingJob>[] {
  const costs = costColumns(jobs);
  return [
    {
      name: "model",
      class: "model-name",
      sort: ({ model }) => model,
      cell: (job) => (
        <a href={addressOf("models", [job.model_id])}>
          <JobModel job={job} />
        </a>
      ),
    },
    {
      name: "job",
      value: ({ id }) => id,
      cell: ({ id }) => (
        <a href={addressOf("jobs", [id])} title={id} data-row>
          <code>{shortId(id)}</code>
        </a>
      ),
    },
    { name: "kind", sort: ({ kind }) => kindTitle(kind), cell: ({ kind }) => kindTitle(kind) },
    {
      name: "state",
      class: "how-far",
      sort: ({ state }) => state,
      cell: (job) => (
        <>
          <JobState job={job} />
          <Progress job={job} />
        </>
      ),
    },
    ...jobRewardColumns(jobs).map((name): DataColumn<TrainingJob> => ({
      name,
      title: metricText(name) ?? undefined,
      class: "reward",
      sort: ({ rewards }) => {
        const found = rewards.find(({ metric }) => metric === name);
        return found?.after ?? found?.before ?? null;
      },
      cell: (job) => <JobReward job={job} metric={name} />,
    })),
    {
      name: "data",
      isNumber: true,
      // Leaves room for the costs.
      isExtra: costs.length > 0,
      class: "wraps",
      sort: ({ counts }) => counts?.trajectories ?? null,
      cell: itemsText,
    },
    {
      name: "duration",
      isNumber: true,
      sort: ({ duration_seconds: seconds }) => seconds,
      cell: ranFor,
    },
    ...costs,
    {
      name: "created",
      sort: ({ created_at: at }) => at,
      cell: ({ created_at: at }) => <When at={at} />,
    },
    {
      name: "version",
      isNumber: true,
      sort: ({ result_step: step }) => step,
      cell: ({ result_step: step }) => step ?? "–",
    },
    ...["learning_rate", "batch_size"].map((name): DataColumn<TrainingJob> => ({
      name,
      title: "Setting of the job",
      isNumber: true,
      isExtra: true,
      sort: (job) => settingOf(job, name),
      cell: (job) => settingOf(job, name) ?? "–",
    })),
  ];
}

/** Returns a setting of a job that is a number; null if the job has no such setting. */
function settingOf(job: TrainingJob, name: string): number | null {
  const settings: object = job.experimental_config ?? job.config ?? job.preference_config ?? {};
  const value: unknown = Object.entries(settings).find(([key]) => key === name)?.[1];
  return typeof value === "number" ? value : null;
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
      <FilterText name="model" label="Model" value={filters.model} placeholder="part of a name" />
    </FilterForm>
  );
}

function itemsText(job: TrainingJob): string {
  if (job.counts === null) return "–";
  const { one, many } = jobItems(job);
  return counted(job.counts.trajectories, one, many);
}
