// View of the stored data: its size by kind, how long the server keeps it, and what the limits have removed.
import type { Retention } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ValueBars } from "../components/bars.tsx";
import { byteText } from "../components/numbers.ts";
import { PagedTable } from "../components/paged-table.tsx";
import { Shown, View, When } from "../components/shown.tsx";
import { Stats } from "../components/stats.tsx";
import { type Loaded, useLoaded } from "../use-loaded.ts";

const everyMs = 60_000;
/** Maximum number of rows of removed data. */
const removedMax = 50;

export function RetentionView({ hone }: { readonly hone: Hone }) {
  const loaded = useLoaded((signal) => hone.retention.get({}, { signal }), [hone], everyMs);
  return (
    <View
      title="Retention"
      lead="The size of the stored data, and the limits after which the server removes data. The operator sets these limits in the server's settings."
    >
      <Shown loaded={loaded}>
        {(retention) => (
          <>
            <Stored retention={retention} />
            <section>
              <h2>Limits</h2>
              <Rules rules={retention.rules} />
            </section>
            <section>
              <h2>Removed data</h2>
              <Removed removed={retention.removed} />
            </section>
          </>
        )}
      </Shown>
    </View>
  );
}

function Stored({ retention: { stored, quota_bytes: quota } }: { readonly retention: Retention }) {
  const kinds = Object.entries(stored).toSorted(([, one], [, other]) => other - one);
  const total = kinds.reduce((sum, [, bytes]) => sum + bytes, 0);
  const hint = quota === null ? "no quota" : `of ${byteText(quota)}`;
  return (
    <>
      <Stats
        of={[
          { label: "Stored", value: byteText(total), hint },
          ...kinds.slice(0, 3).map(([kind, bytes]) => ({ label: kind, value: byteText(bytes) })),
        ]}
      />
      <section class="card" aria-labelledby="stored">
        <h2 id="stored">Stored data by kind</h2>
        <ValueBars values={kinds} format={byteText} />
      </section>
    </>
  );
}

function Rules({ rules }: { readonly rules: Retention["rules"] }) {
  return (
    <PagedTable
      loaded={shownRows(rules)}
      label="Limits"
      columns={[
        "data",
        { number: "kept for" },
        { number: "per entity" },
        { number: "per model" },
        { number: "stored" },
      ]}
      none={() => "No limits."}
      first={null}
      nextOf={() => ""}
    >
      {({ kind, days, entity_bytes: bytes, model_count: count, stored_bytes: stored }) => (
        <tr key={kind}>
          <td>{kind}</td>
          <td class="number">{days === null ? "no limit" : `${days} days`}</td>
          <td class="number">{bytes === null ? "no limit" : byteText(bytes)}</td>
          <td class="number">{count === null ? "no limit" : count.toLocaleString("en")}</td>
          <td class="number">{byteText(stored)}</td>
        </tr>
      )}
    </PagedTable>
  );
}

function Removed({ removed }: { readonly removed: Retention["removed"] }) {
  return (
    <PagedTable
      loaded={shownRows(removed.slice(0, removedMax))}
      label="Removed data"
      columns={["day", "data", "entity", { number: "entries" }, { number: "size" }, "last"]}
      none={() => "The limits have removed nothing so far."}
      first={null}
      nextOf={() => ""}
    >
      {({ day, kind, entity, count, bytes, last_at: at }) => (
        <tr key={`${day} ${kind} ${entity}`}>
          <td>{day}</td>
          <td>{kind}</td>
          <td>{entity}</td>
          <td class="number">{count.toLocaleString("en")}</td>
          <td class="number">{byteText(bytes)}</td>
          <td>
            <When at={at} />
          </td>
        </tr>
      )}
    </PagedTable>
  );
}

/** Wraps rows that are already loaded in the type that `PagedTable` takes. */
function shownRows<Row>(
  rows: readonly Row[],
): Loaded<{ readonly rows: readonly Row[]; readonly last: null }> {
  return { value: { rows, last: null }, failure: null, isLoading: false, reload: () => undefined };
}
