// View of a model's stored trajectories, newest first, page by page. The URL contains the filters and the position.
import type { TrajectoryCount } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { counted, shortNumber } from "../components/numbers.ts";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { Shown } from "../components/shown.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import { askedPage, type Filters, filtersIn, isCounted, metricColumns } from "../trajectories/list-query.ts";
import { matchingRows, readPage } from "../trajectories/read-page.ts";
import { TrajectoryFilters } from "../trajectories/trajectory-filters.tsx";
import { TrajectoryTable } from "../trajectories/trajectory-table.tsx";
import { ModelPage } from "../model/model-page.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

/** Maximum number of metrics that the filter offers. */
const metricsMax = 40;
/** Maximum number of trajectories that are counted for a filter without counts. */
const matchesMax = 1000;
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
      {isCounted(filters) ? (
        <Shown loaded={counts}>{(kinds) => <CountLine counts={kinds} filters={filters} />}</Shown>
      ) : (
        <MatchLine key={JSON.stringify(filters)} hone={hone} modelId={modelId} filters={filters} />
      )}
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
              <TrajectoryTable
                hone={hone}
                modelId={modelId}
                rows={rows}
                filters={filters}
                pages={
                  older === null && isNewest
                    ? undefined
                    : (signal) => matchingRows(hone, modelId, filters, signal)
                }
              />
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

/** Shows how many trajectories match filters to which the API's counts apply, and their mean reward. */
function CountLine({
  counts,
  filters,
}: {
  readonly counts: readonly TrajectoryCount[];
  readonly filters: Filters;
}) {
  const wanted = counts.filter(
    ({ source, split }) => source === (filters.source ?? source) && split === (filters.split ?? split),
  );
  const count = wanted.reduce((sum, kind) => sum + kind.count, 0);
  const reward = wanted.reduce((sum, kind) => sum + kind.count * kind.mean_reward, 0);
  return <Total count={count} reward={reward} />;
}

/** Counts the trajectories that match other filters, page by page, up to a limit. */
function MatchLine({
  hone,
  modelId,
  filters,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly filters: Filters;
}) {
  const loaded = useLoaded(
    async (signal) => {
      let [count, reward] = [0, 0];
      // A search for words takes seconds for each page, so only its first page is counted.
      const countMax = filters.text === undefined ? matchesMax : 1;
      for await (const rows of matchingRows(hone, modelId, filters, signal)) {
        count += rows.length;
        reward += rows.reduce((sum, row) => sum + row.reward, 0);
        if (count >= countMax) return { count, reward, isLeast: true };
      }
      return { count, reward, isLeast: false };
    },
    [hone, modelId],
  );
  // The list itself shows the error of a filter that the server refuses.
  return loaded.value === null ? null : <Total {...loaded.value} />;
}

function Total({
  count,
  reward,
  isLeast = false,
}: {
  readonly count: number;
  /** Sum of the rewards. */
  readonly reward: number;
  /** True if more trajectories may match. */
  readonly isLeast?: boolean;
}) {
  return (
    <p class="muted" role="status">
      {isLeast && "at least "}
      {counted(count, "trajectory", "trajectories")}
      {count > 0 && `, mean reward ${shortNumber(reward / count)}${isLeast ? " of these" : ""}`}
    </p>
  );
}

function stepOf({ step }: Filters): { readonly step?: number } {
  return step === undefined ? {} : { step: Number(step) };
}
