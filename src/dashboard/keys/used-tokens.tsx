// What was used by day, key and model, a page at a time: by whoever is signed in, or by everybody for administrators.
import type { Hone } from "../../client/hone.ts";
import { Pager, Shown, WideTable } from "../parts/shown.tsx";
import { shortId } from "../parts/short-id.ts";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

const limit = 30;
const everyMs = 30_000;
/** In the address, of the row that the page begins behind. */
const name = "used_after";

const shown = (count: number): string => count.toLocaleString("en");

export function UsedTokens({ hone }: { readonly hone: Hone }) {
  const after = place.value.query.get(name) ?? "";
  const loaded = useLoaded(
    (signal) => hone.keys.usage({ limit, ...(after !== "" && { after }) }, { signal }).first(),
    [hone, after],
    everyMs,
  );
  return (
    <Shown loaded={loaded}>
      {({ data, has_more: hasMore, last_id: lastId }) => (
        <>
          {data.length === 0 && <p>Nothing yet. What is used is counted by day, key and model.</p>}
          {data.length > 0 && (
            <WideTable label="What was used">
              <thead>
                <tr>
                  <th scope="col">day</th>
                  <th scope="col">key</th>
                  <th scope="col">entity</th>
                  <th scope="col">model</th>
                  <th scope="col" class="number">
                    requests
                  </th>
                  <th scope="col" class="number">
                    prompt tokens
                  </th>
                  <th scope="col" class="number">
                    answer tokens
                  </th>
                  <th scope="col" class="number">
                    training tokens
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((row) => (
                  <tr key={row.id}>
                    <td>{row.day}</td>
                    <td title={row.key_id ?? ""}>{keyText(row.key_id)}</td>
                    <td>{row.entity}</td>
                    <td>{row.model}</td>
                    <td class="number">{shown(row.requests)}</td>
                    <td class="number">{shown(row.prompt_tokens)}</td>
                    <td class="number">{shown(row.completion_tokens)}</td>
                    <td class="number">{shown(row.training_tokens)}</td>
                  </tr>
                ))}
              </tbody>
            </WideTable>
          )}
          <Pager
            first={after === "" ? null : addressOf("usage")}
            next={hasMore ? addressOf("usage", [], { [name]: lastId }) : null}
          />
        </>
      )}
    </Shown>
  );
}

/** Users who come without a key have their name in its place. */
function keyText(id: string | null): string {
  if (id === null) return "–";
  return id.startsWith("user:") ? id.slice("user:".length) : shortId(id);
}
