// View of a model's stored trajectories, newest first, page by page. The URL contains the filters and the position.
import type { TrajectoryCount } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { counted, shortNumber } from "../components/numbers.ts";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { Shown } from "../components/shown.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import { askedPage, type Filters, filtersIn, isCounted, metricColumns } from "../trajectories/list-query.ts";
import { readPage } from "../trajectories/read-page.ts";
import { TrajectoryFilters } from "../trajectories/trajectory-filters.tsx";
import { TrajectoryTable } from "../trajectories/trajectory-table.tsx";
import { ModelPage } from "../model/model-page.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

/** Maximum number of metrics that the filter offers. */
const metricsMax = 40;
/** Interval in milliseconds at which the newest page is reloaded. */
const everyMs = 10_000;

export function Trajectories({ hone, modelId }: { readonly hone: Hone; readonly modelId: string }) {
  const { query } = place.value;
  const filters = filtersIn(query);
  const isNewest = !query.has("after") && !query.has("before");
  const model = useLoaded((signal) => hone.models.get(modelId, { signal }), [hone, modelId]);
  const counts = useLoaded(
    (signal) => hone.trajectories.counts(modelId, stepOf(filters), { signal }),
    [hone, modelId, filters.step],
  );
  const page = useLoaded(
    (signal) => readPage(hone, modelId, query, signal),
    [hone, modelId, JSON.stringify(askedPage(query))],
    // A search takes seconds, so the page does not repeat it.
    isNewest && filters.text === undefined ? everyMs : null,
  );
  const addressWith = (more: Readonly<Record<string, string>>): string =>
    addressOf("trajectories", [modelId], { ...filters, ...layoutIn(query), ...more });
  return (
    <ModelPage id={modelId} model={model.value} tab="trajectories" tools={<SavedViews />}>
      <TrajectoryFilters
        filters={filters}
        counts={counts.value ?? []}
        metrics={metricColumns(page.value?.rows ?? [], metricsMax).map((name) => `${name}>=`)}
        onChange={(chosen) => go(addressOf("trajectories", [modelId], { ...chosen, ...layoutIn(query) }))}
      />
      <Shown loaded={counts}>{(kinds) => <CountLine counts={kinds} filters={filters} />}</Shown>
      <Shown loaded={page}>
        {({ rows, older, newer }) => (
          <>
            {rows.length === 0 ? (
              <p>
                {older === null
                  ? "No trajectories match these filters."
                  : "No matches so far; more trajectories remain to be searched."}
              </p>
            ) : (
              <TrajectoryTable hone={hone} modelId={modelId} rows={rows} />
            )}
            <nav class="pager" aria-label="Pages">
              {!isNewest && <a href={addressWith({})}>Newest</a>}
              {newer !== null && <a href={addressWith({ before: newer })}>Newer</a>}
              {older !== null && (
                <a href={addressWith({ after: older })} rel="next">
                  Older
                </a>
              )}
            </nav>
          </>
        )}
      </Shown>
    </ModelPage>
  );
}

/**
 * Shows how many trajectories match the filters, and their mean reward; nothing if the API's counts do not apply to
 * the filters.
 */
function CountLine({
  counts,
  filters,
}: {
  readonly counts: readonly TrajectoryCount[];
  readonly filters: Filters;
}) {
  if (!isCounted(filters)) return null;
  const wanted = counts.filter(
    ({ source, split }) => source === (filters.source ?? source) && split === (filters.split ?? split),
  );
  const count = wanted.reduce((sum, kind) => sum + kind.count, 0);
  const reward = wanted.reduce((sum, kind) => sum + kind.count * kind.mean_reward, 0);
  return (
    <p class="muted" role="status">
      {counted(count, "trajectory", "trajectories")}
      {count > 0 && `, mean reward ${shortNumber(reward / count)}`}
    </p>
  );
}

function stepOf({ step }: Filters): { readonly step?: number } {
  return step === undefined ? {} : { step: Number(step) };
}
