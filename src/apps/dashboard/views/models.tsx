// View of the trained models, page by page.
import type { Hone } from "../../client/hone.ts";
import { Pager, Shown, View, When, WideTable } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 50;
const everyMs = 10_000;

export function Models({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get("after") ?? "";
  const loaded = useLoaded(
    (signal) => hone.models.list({ limit, ...(after !== "" && { after }) }, { signal }).first(),
    [hone, after],
    everyMs,
  );
  return (
    <View title="Models">
      <Shown loaded={loaded}>
        {({ data, has_more: hasMore, last_id: lastId }) => (
          <>
            {data.length === 0 && <p>No trained models yet. Register one to see it here.</p>}
            {data.length > 0 && (
              <WideTable label="Models">
                <thead>
                  <tr>
                    <th scope="col">model</th>
                    <th scope="col">project</th>
                    <th scope="col">entity</th>
                    <th scope="col">base</th>
                    <th scope="col">registered</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((model) => (
                    <tr key={model.id}>
                      <td>
                        <a href={addressOf("models", [model.id])} data-row>
                          {model.name}
                        </a>
                      </td>
                      <td>{model.project}</td>
                      <td>{model.entity}</td>
                      <td>{model.base_model}</td>
                      <td>
                        <When at={model.created_at} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </WideTable>
            )}
            <Pager
              first={after === "" ? null : addressOf("models")}
              next={hasMore ? addressOf("models", [], { after: lastId }) : null}
            />
          </>
        )}
      </Shown>
    </View>
  );
}
