// View of the trained models, page by page, with the rewards of their newest versions.
import { useState } from "preact/hooks";
import type { ModelObject, TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { metricText } from "../charts/metric-texts.ts";
import { Empty } from "../components/empty.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { counted, shortNumber } from "../components/numbers.ts";
import { Icon } from "../components/icon.tsx";
import { listed } from "../components/paged-table.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { View, When } from "../components/shown.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { BulkActions, BulkLink, idsOf } from "../components/tables/bulk-actions.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { jobsChanged } from "../live.ts";
import { addressOf, place } from "../router.ts";
import { NewModel } from "../training/new-model.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { jobRewardColumns } from "./job-list.ts";
import { rewardsByModel } from "./model-rewards.ts";

const limit = 50;
/** Number of the newest jobs whose rewards are shown. */
const jobsMax = 100;

export function Models({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get("after") ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.models.list({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after, jobsChanged.value],
  );
  const jobs = useLoaded(
    async (signal): Promise<readonly TrainingJob[]> =>
      (await hone.jobs.list({ limit: jobsMax }, { signal }).first()).data,
    [hone, jobsChanged.value],
  );
  const [isNew, setIsNew] = useState(false);
  const selection = useSelection<ModelObject>(({ id }) => id);
  const remove = async (models: readonly ModelObject[]): Promise<void> => {
    for (const { id } of models) await hone.models.delete(id);
    selection.clear();
    loaded.reload();
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
      <DataList
        loaded={loaded}
        label="Models"
        columns={modelColumns(jobs.value ?? [])}
        idOf={({ id }) => id}
        nameOf={({ project, name }) => `${project}/${name}`}
        selection={selection}
        toolbar={(models, tableOf) => (
          <BulkActions
            rows={models}
            table={tableOf(models)}
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
        none={() => <NoModels />}
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
