// Statistics of feedback: a card for each type, with bars for counted values and a histogram for numbers.
import type { FeedbackPathStats, FeedbackTypeStats } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Histogram, ValueBars } from "../components/bars.tsx";
import { counted, shortNumber } from "../components/numbers.ts";
import { Shown } from "../components/shown.tsx";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { conditionOf, type FeedbackFilters } from "./feedback-query.ts";

const everyMs = 15_000;
/** Maximum numbers that are shown: types, paths per type, and values per path. */
const [typesMax, pathsMax, valuesMax] = [9, 2, 5];
/** Payload paths of reactions that are not shown, because they only repeat the values of another path. */
const repeated = /^payload\.(alias|detoned|detoned_alias)$/;

export function TypeStats({
  hone,
  project,
  filters,
}: {
  readonly hone: Hone;
  readonly project: string;
  readonly filters: FeedbackFilters;
}) {
  const loaded = useLoaded(
    (signal) => hone.feedback.stats({ project_id: project, query: conditionOf(filters) }, { signal }),
    [hone, project, JSON.stringify(filters)],
    everyMs,
  );
  return (
    <Shown loaded={loaded}>
      {({ total_count: total, types, sample }) =>
        total > 0 && (
          <section aria-label="Statistics">
            <p class="muted" role="status">
              {counted(total, "record")}
              {sample.share < 1 && `; the bars show a sample of ${sample.count.toLocaleString("en")}`}
            </p>
            <div class="cards">
              {types.slice(0, typesMax).map((one) => (
                <TypeCard key={one.feedback_type} type={one} filters={{ ...filters, project }} />
              ))}
            </div>
          </section>
        )
      }
    </Shown>
  );
}

function TypeCard({
  type: { feedback_type: name, count, paths },
  filters,
}: {
  readonly type: FeedbackTypeStats;
  readonly filters: FeedbackFilters;
}) {
  const shown = paths.filter((path) => !repeated.test(path.path) && (path.numbers ?? path.values) !== null);
  return (
    <div class="card type-stats">
      <h2>
        <a href={addressOf("feedback", [], { ...filters, type: name })}>{name}</a>
        <span class="tag">{count.toLocaleString("en")}</span>
      </h2>
      {shown.slice(0, pathsMax).map((path) => (
        <PathStats key={path.path} stats={path} />
      ))}
      {shown.length === 0 && <p class="muted">Texts, which have no statistics.</p>}
    </div>
  );
}

function PathStats({ stats: { path, numbers, values } }: { readonly stats: FeedbackPathStats }) {
  const name = path.replace(/^payload\./, "");
  if (numbers !== null && numbers.histogram !== null)
    return (
      <figure class="path-stats">
        <figcaption>
          {name}: mean <strong>{shortNumber(numbers.mean)}</strong>
          {numbers.p50 !== null && <span class="muted"> · median {shortNumber(numbers.p50)}</span>}
        </figcaption>
        <Histogram counts={numbers.histogram} min={numbers.min} max={numbers.max} />
      </figure>
    );
  return (
    <figure class="path-stats">
      <figcaption>{name}</figcaption>
      <ValueBars
        values={(values ?? []).slice(0, valuesMax).map(({ value, count }) => [String(value), count] as const)}
      />
    </figure>
  );
}
