// View of the trained models, page by page, with the rewards of their newest versions.
import { useState } from "preact/hooks";
import type { ModelObject, TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { metricText } from "../charts/metric-texts.ts";
import { Empty } from "../components/empty.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { counted, shortNumber } from "../components/numbers.ts";
import { Icon } from "../components/icon.tsx";
import { FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { listed } from "../components/paged-table.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { View, When } from "../components/shown.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { BulkActions, BulkLink, idsOf } from "../components/tables/bulk-actions.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { inSteps } from "../components/tables/steps.ts";
import { layoutIn } from "../components/tables/table-layout.ts";
import { useSelection } from "../components/tables/selection.tsx";
import { jobsChanged } from "../live.ts";
import { addressOf, go, place } from "../router.ts";
import { NewModel } from "../training/new-model.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { jobRewardColumns } from "./job-list.ts";
import { rewardsByModel } from "./model-rewards.ts";

const limit = 50;
/** Interval in milliseconds at which the first page is reloaded. */
const everyMs = 10_000;
/** Number of the newest jobs whose rewards are shown. */
const jobsMax = 100;

export function Models({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const [after, search] = [query.get("after") ?? "", query.get("search") ?? ""];
  const asked = { ...(after !== "" && { after }), ...(search !== "" && { search }) };
  const loaded = useLoaded(
    async (signal) => listed(await hone.models.list({ limit, ...asked }, { signal }).first()),
    [hone, after, search, jobsChanged.value],
    // A new model appears in the list without a job.
    after === "" ? everyMs : null,
  );
  const jobs = useLoaded(
    async (signal): Promise<readonly TrainingJob[]> =>
      (await hone.jobs.list({ limit: jobsMax }, { signal }).first()).data,
    [hone, jobsChanged.value],
  );
  const [isNew, setIsNew] = useState(false);
  const selection = useSelection<ModelObject>(({ id }) => id);
  const remove = async (models: readonly ModelObject[]): Promise<void> => {
    try {
      await inSteps(models, ({ id }) => hone.models.delete(id));
      selection.clear();
    } finally {
      loaded.reload();
    }
  };
  return (
    <View
      title="Models"
      lead="Models that were registered for training, the newest first."
      actions={
        <>
          <SavedViews />
          {may("train") && (
            <button type="button" class="primary" onClick={() => setIsNew(true)}>
              <Icon of="plus" /> New model
            </button>
          )}
        </>
      }
    >
      <FilterForm
        filters={search === "" ? {} : { search }}
        onSubmit={(form) =>
          go(addressOf("models", [], { search: filledIn(form).get("search") ?? "", ...layoutIn(query) }))
        }
        onClear={() => go(addressOf("models"))}
      >
        <FilterText name="search" label="Search" value={search} placeholder="part of a name" />
      </FilterForm>
      <DataList
        loaded={loaded}
        label="Models"
        filters={search === "" ? {} : { search }}
        columns={modelColumns(jobs.value ?? [])}
        idOf={({ id }) => id}
        nameOf={({ project, name }) => `${project}/${name}`}
        selection={selection}
        toolbar={(models, tableOf) => (
          <BulkActions
            rows={models}
            table={() => tableOf(models)}
            name="models"
            {...(may("train") && {
              removal: {
                what: models.length === 1 ? `model ${names(models)[0]}` : counted(models.length, "model"),
                names: names(models),
                says: "All versions, trajectories and recorded conversations of the selection will be lost.",
                act: () => remove(models),
              },
            })}
          >
            <BulkLink to={addressOf("runs", [], { ids: idsOf(models) })} isOff={models.length < 2}>
              <Icon of="compare" /> Compare
            </BulkLink>
            {may("train") && (
              <BulkLink
                to={addressOf("train", [], { model: models[0]?.id ?? "" })}
                isOff={models.length !== 1}
              >
                <Icon of="play" /> Train
              </BulkLink>
            )}
          </BulkActions>
        )}
        none={() => (search === "" ? <NoModels /> : "No model has this text in its name.")}
      />
      {isNew && <NewModel hone={hone} onClose={() => setIsNew(false)} />}
    </View>
  );
}

function names(models: readonly ModelObject[]): readonly string[] {
  return models.map(({ project, name }) => `${project}/${name}`);
}

function modelColumns(jobs: readonly TrainingJob[]): readonly DataColumn<ModelObject>[] {
  const newestOf = ({ id }: ModelObject) => jobs.find((job) => job.model_id === id);
  return [
    {
      name: "model",
      class: "model-name",
      sort: ({ name }) => name,
      cell: (model) => (
        <a href={addressOf("models", [model.id])} data-row>
          <ModelName name={`${model.entity}/${model.project}/${model.name}`} />
        </a>
      ),
    },
    { name: "base", sort: ({ base_model: base }) => base, cell: ({ base_model: base }) => base },
    ...jobRewardColumns(jobs).map((metric): DataColumn<ModelObject> => {
      const rewards = rewardsByModel(jobs, metric);
      const rewardOf = ({ id }: ModelObject) => rewards.get(id)?.at(-1) ?? null;
      return {
        name: metric,
        title: metricText(metric) ?? undefined,
        isNumber: true,
        sort: rewardOf,
        cell: (model) => (
          <>
            <Sparkline values={rewards.get(model.id) ?? []} /> {shortNumber(rewardOf(model) ?? NaN)}
          </>
        ),
      };
    }),
    {
      name: "newest job",
      sort: (model) => newestOf(model)?.created_at ?? null,
      cell: (model) => {
        const newest = newestOf(model);
        return newest === undefined ? (
          "–"
        ) : (
          <a href={addressOf("jobs", [newest.id])}>
            <When at={newest.created_at} />
          </a>
        );
      },
    },
    {
      name: "registered",
      sort: ({ created_at: at }) => at,
      cell: ({ created_at: at }) => <When at={at} />,
    },
  ];
}

function NoModels() {
  return (
    <Empty
      icon="model"
      title="No trained models yet"
      commands={[`npx hone demo --url ${location.origin}`, "npx hone init my-agent"]}
    >
      Registering a model costs nothing: it starts with the weights of its base model. Register one with{" "}
      <em>New model</em>. The demo registers one and trains it; <code>hone init</code> writes a project with a
      reward of your own.
    </Empty>
  );
}
