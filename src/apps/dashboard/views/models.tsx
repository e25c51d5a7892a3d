// View of the trained models, page by page, with the rewards of their newest versions.
import type { TrainingJob } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { shortNumber } from "../components/numbers.ts";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { View, When } from "../components/shown.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { jobsChanged } from "../live.ts";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
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
  const rewards = rewardsByModel(jobs.value ?? []);
  return (
    <View title="Models" lead="Models that were registered for training, the newest first.">
      <PagedTable
        loaded={loaded}
        label="Models"
        columns={[
          "model",
          "base",
          { number: "reward", title: "Reward of the newest versions" },
          "",
          "newest job",
          "registered",
        ]}
        none={() => <NoModels />}
        first={after === "" ? null : addressOf("models")}
        nextOf={(last) => addressOf("models", [], { after: last })}
      >
        {(model) => {
          const values = rewards.get(model.id) ?? [];
          const newest = jobs.value?.find((job) => job.model_id === model.id);
          return (
            <tr key={model.id}>
              <td class="model-name">
                <a href={addressOf("models", [model.id])} data-row>
                  <ModelName name={`${model.entity}/${model.project}/${model.name}`} />
                </a>
              </td>
              <td>{model.base_model}</td>
              <td class="number">{values.length === 0 ? "–" : shortNumber(values.at(-1) ?? NaN)}</td>
              <td>
                <Sparkline values={values} />
              </td>
              <td>
                {newest === undefined ? (
                  "–"
                ) : (
                  <a href={addressOf("jobs", [newest.id])}>
                    <When at={newest.created_at} />
                  </a>
                )}
              </td>
              <td>
                <When at={model.created_at} />
              </td>
            </tr>
          );
        }}
      </PagedTable>
    </View>
  );
}

function NoModels() {
  return (
    <Empty
      icon="model"
      title="No trained models yet"
      commands={[`npx hone demo --url ${location.origin}`, "npx hone init my-agent"]}
    >
      Registering a model costs nothing: it starts with the weights of its base model. The demo registers one
      and trains it; <code>hone init</code> writes a project with a reward of your own.
    </Empty>
  );
}
