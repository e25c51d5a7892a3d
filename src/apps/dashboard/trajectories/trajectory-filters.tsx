// Form with the filters of a trajectory list.
import type { TrajectoryCount } from "../../client/api.ts";
import { FilterChoice, FilterField, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { localTime, timesIn } from "../components/forms/local-time.ts";
import { type Filters, filtersIn } from "./list-query.ts";

export function TrajectoryFilters({
  filters,
  counts,
  metrics,
  onChange,
}: {
  readonly filters: Filters;
  readonly counts: readonly TrajectoryCount[];
  /** Names of metrics, which the field for metrics offers. */
  readonly metrics: readonly string[];
  readonly onChange: (filters: Filters) => void;
}) {
  const splits = new Set([
    ...counts.map(({ split }) => split),
    ...(filters.split === undefined ? [] : [filters.split]),
  ]);
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) => onChange(filtersIn(timesIn(filledIn(form), ["recorded_from", "recorded_before"])))}
      onClear={() => onChange({})}
    >
      <FilterText name="text" label="Words" value={filters.text} />
      <FilterChoice
        name="source"
        label="Source"
        value={filters.source}
        choices={[
          ["", "all"],
          ["log", "logs"],
          ["job", "training jobs"],
        ]}
      />
      <FilterChoice
        name="split"
        label="Split"
        value={filters.split}
        choices={[["", "all"], ...[...splits].sort().map((split) => [split, split] as const)]}
      />
      <FilterField name="step" label="Version" type="number" value={filters.step} min={0} step="1" />
      <FilterField
        name="reward_min"
        label="Reward from"
        type="number"
        value={filters.reward_min}
        step="any"
      />
      <FilterField name="reward_max" label="Reward to" type="number" value={filters.reward_max} step="any" />
      <FilterText
        name="metric"
        label="Metrics (the first 12)"
        value={filters.metric}
        placeholder="speed>=0.5, right=1"
        names={metrics}
      />
      <FilterText name="metadata" label="Metadata" value={filters.metadata} placeholder="scenario_id=7" />
      <FilterField
        name="recorded_from"
        label="Stored from"
        type="datetime-local"
        value={localTime(filters.recorded_from)}
      />
      <FilterField
        name="recorded_before"
        label="Stored before"
        type="datetime-local"
        value={localTime(filters.recorded_before)}
      />
    </FilterForm>
  );
}
