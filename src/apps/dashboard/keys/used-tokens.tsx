// Table of usage by day, key and model, page by page. Users see their own usage, administrators the usage of everyone.
import { costSum, costText } from "../../client/cost-text.ts";
import type { Hone } from "../../client/hone.ts";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { keyText, keyTitle } from "./key-title.ts";

const limit = 30;
const everyMs = 30_000;
/** Query parameter with the id of the row after which the page begins. */
const name = "used_after";

const columns = [
  "day",
  "key",
  "entity",
  "model",
  { number: "requests" },
  { number: "prompt tokens" },
  { number: "of these cached", title: "Prompt tokens that the server read from its prefix cache" },
  { number: "answer tokens" },
  { number: "training tokens", title: "Tokens that jobs trained on, counted in each pass" },
];

const shown = (count: number): string => count.toLocaleString("en");

/** @param isAdmin true if the user may read the names of keys */
export function UsedTokens({ hone, isAdmin }: { readonly hone: Hone; readonly isAdmin: boolean }) {
  const after = place.value.query.get(name) ?? "";
  const loaded = useLoaded(
    async (signal) =>
      listed(await hone.keys.usage({ limit, ...(after !== "" && { after }) }, { signal }).first()),
    [hone, after],
    everyMs,
  );
  const names = useLoaded(
    async (signal) => {
      if (!isAdmin) return new Map<string, string>();
      const { data } = await hone.keys.list({ limit: 100 }, { signal }).first();
      return new Map(data.map((key) => [key.id, keyTitle(key)]));
    },
    [hone, isAdmin],
  );
  const hasCosts = costSum(loaded.value?.rows ?? []).cost !== null;
  return (
    <PagedTable
      loaded={loaded}
      label="Usage"
      columns={hasCosts ? [...columns, { number: "cost" }] : columns}
      none={() => "No usage yet. Usage is counted by day, key and model."}
      first={after === "" ? null : addressOf("usage")}
      nextOf={(last) => addressOf("usage", [], { [name]: last })}
    >
      {(row) => (
        <tr key={row.id}>
          <td class="whole">{row.day}</td>
          <td title={row.key_id ?? ""}>{names.value?.get(row.key_id ?? "") ?? keyText(row.key_id)}</td>
          <td>{row.entity}</td>
          <td>{row.model}</td>
          <td class="number">{shown(row.requests)}</td>
          <td class="number">{shown(row.prompt_tokens)}</td>
          <td class="number">{shown(row.cached_tokens)}</td>
          <td class="number">{shown(row.completion_tokens)}</td>
          <td class="number">{shown(row.training_tokens)}</td>
          {hasCosts && <td class="number">{costText(row) ?? "–"}</td>}
        </tr>
      )}
    </PagedTable>
  );
}
