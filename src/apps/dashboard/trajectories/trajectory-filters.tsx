// Form with the filters of a trajectory list.
import type { TrajectoryCount } from "../../client/api.ts";
import {
  FilterChoice,
  FilterForm,
  FilterNumber,
  FilterText,
  FilterTime,
} from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { timesIn } from "../components/forms/local-time.ts";
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
      <FilterNumber name="step" label="Version" value={filters.step} min={0} step="1" />
      <FilterNumber name="reward_min" label="Reward from" value={filters.reward_min} step="any" />
      <FilterNumber name="reward_max" label="Reward to" value={filters.reward_max} step="any" />
      <FilterText
        name="metric"
        label="Metrics (the first 12)"
        value={filters.metric}
        placeholder="speed>=0.5, right=1"
        names={metrics}
      />
      <FilterText name="metadata" label="Metadata" value={filters.metadata} placeholder="scenario_id=7" />
      <FilterTime name="recorded_from" label="Stored from" value={filters.recorded_from} />
      <FilterTime name="recorded_before" label="Stored before" value={filters.recorded_before} />
    </FilterForm>
  );
}
