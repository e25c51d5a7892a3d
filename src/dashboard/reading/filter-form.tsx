// The filters of a list of trajectories. What is typed counts once it is sent; a choice counts at once.
import type { TrajectoryCount } from "../../client/api.ts";
import { type FilterName, type Filters, filtersIn } from "./list-query.ts";

export function FilterForm({
  filters,
  counts,
  onChange,
}: {
  readonly filters: Filters;
  readonly counts: readonly TrajectoryCount[];
  readonly onChange: (filters: Filters) => void;
}) {
  const splits = new Set([
    ...counts.map(({ split }) => split),
    ...(filters.split === undefined ? [] : [filters.split]),
  ]);
  return (
    <form
      class="filters"
      aria-label="Filters"
      // Made anew where the address changes by other means than the form.
      key={JSON.stringify(filters)}
      onSubmit={(event) => {
        event.preventDefault();
        onChange(filtersOf(event.currentTarget));
      }}
    >
      <Choice name="source" label="From" value={filters.source} all="logs and jobs">
        {[
          ["log", "logs"],
          ["job", "training jobs"],
        ]}
      </Choice>
      <Choice name="split" label="Split" value={filters.split} all="all">
        {[...splits].sort().map((split) => [split, split])}
      </Choice>
      <Field name="step" label="Version" type="number" value={filters.step} min={0} step="1" />
      <Field name="reward_min" label="Reward from" type="number" value={filters.reward_min} step="any" />
      <Field name="reward_max" label="Reward to" type="number" value={filters.reward_max} step="any" />
      <Field
        name="recorded_from"
        label="Stored from"
        type="datetime-local"
        value={localTime(filters.recorded_from)}
      />
      <Field
        name="recorded_before"
        label="Stored before"
        type="datetime-local"
        value={localTime(filters.recorded_before)}
      />
      <button type="submit">Filter</button>
      {Object.keys(filters).length > 0 && (
        <button type="button" class="plain" onClick={() => onChange({})}>
          Clear
        </button>
      )}
    </form>
  );
}

function Choice({
  name,
  label,
  value,
  all,
  children,
}: {
  readonly name: FilterName;
  readonly label: string;
  readonly value: string | undefined;
  /** What letting all through is called. */
  readonly all: string;
  readonly children: readonly (readonly string[])[];
}) {
  return (
    <label>
      {label}
      <select
        name={name}
        defaultValue={value ?? ""}
        onChange={(event) => event.currentTarget.form?.requestSubmit()}
      >
        <option value="">{all}</option>
        {children.map(([choice, title]) => (
          <option key={choice} value={choice} selected={choice === value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Field({
  name,
  label,
  value = "",
  ...input
}: {
  readonly name: FilterName;
  readonly label: string;
  readonly type: "number" | "datetime-local";
  readonly value: string | undefined;
  readonly min?: number;
  readonly step?: string;
}) {
  return (
    <label>
      {label}
      <input name={name} defaultValue={value} {...input} />
    </label>
  );
}

function filtersOf(form: HTMLFormElement): Filters {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value !== "string" || value === "") continue;
    given.set(name, name.startsWith("recorded_") ? new Date(value).toISOString() : value);
  }
  return filtersIn(given);
}

/** As a field has a time: in the reader's zone, to the minute. */
function localTime(iso: string | undefined): string | undefined {
  const time = new Date(iso ?? NaN);
  if (Number.isNaN(time.getTime())) return undefined;
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
