// View for choosing the model whose trajectories to read; lists models newest first.
import type { Hone } from "../../client/hone.ts";
import { Pager, Shown, View } from "../components/shown.tsx";
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
    <View title="Trajectories">
      <Shown loaded={loaded}>
        {({ data, has_more: hasMore, last_id: lastId }) => (
          <>
            <p>{data.length === 0 ? "No trained models yet." : "Choose a model:"}</p>
            <ul>
              {data.map(({ id, entity, project, name }) => (
                <li key={id}>
                  <a href={addressOf("trajectories", [id])} data-row>
                    {entity}/{project}/{name}
                  </a>
                </li>
              ))}
            </ul>
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
