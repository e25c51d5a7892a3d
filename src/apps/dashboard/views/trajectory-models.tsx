// View for choosing the model whose trajectories to read; lists models newest first.
import type { ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Empty } from "../components/empty.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { Pager, Shown, View, When, WideTable } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 50;

export function TrajectoryModels({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get("after") ?? "";
  const loaded = useLoaded(
    (signal) =>
      hone.models.list({ limit, order: "desc", ...(after !== "" && { after }) }, { signal }).first(),
    [hone, after],
  );
  return (
    <View title="Trajectories" lead="Choose a model to read what it was trained and evaluated on.">
      <Shown loaded={loaded}>
        {({ data, has_more: hasMore, last_id: lastId }) => (
          <>
            {data.length === 0 ? <NoTrajectories /> : <ModelRows models={data} />}
            <Pager
              first={after === "" ? null : addressOf("trajectories")}
              next={hasMore ? addressOf("trajectories", [], { after: lastId }) : null}
            />
          </>
        )}
      </Shown>
    </View>
  );
}

function ModelRows({ models }: { readonly models: readonly ModelObject[] }) {
  return (
    <WideTable label="Models">
      <thead>
        <tr>
          <th scope="col">model</th>
          <th scope="col">base</th>
          <th scope="col">registered</th>
        </tr>
      </thead>
      <tbody>
        {models.map(({ id, entity, project, name, base_model: base, created_at: at }) => (
          <tr key={id}>
            <td class="model-name">
              <a href={addressOf("trajectories", [id])} data-row>
                <ModelName name={`${entity}/${project}/${name}`} />
              </a>
            </td>
            <td>{base}</td>
            <td>
              <When at={at} />
            </td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

function NoTrajectories() {
  return (
    <Empty
      icon="trajectory"
      title="No trajectories yet"
      commands={[`npx hone demo --url ${location.origin}`]}
    >
      A trajectory is a conversation with a reward. Jobs store those that they train on, and your program logs
      those of its evaluations. The demo creates some.
    </Empty>
  );
}
