// Choice of the split, the versions and the order of an evaluation.
import type { RowOrder } from "./evaluation-rows.ts";
import type { EvaluationChoices } from "./load-evaluation.ts";

export function EvaluationForm({
  choices,
  split,
  versions,
  order,
  orders,
  measure,
  measures,
  isFull,
  onChange,
}: {
  readonly choices: EvaluationChoices;
  readonly split: string;
  readonly versions: readonly number[];
  readonly order: RowOrder;
  readonly orders: Readonly<Record<RowOrder, string>>;
  readonly measure: string;
  readonly measures: readonly string[];
  readonly isFull: boolean;
  /** Called with the changed parameters of the address: `split`, `v` (the versions), `measure` or `order`. */
  readonly onChange: (change: Readonly<Record<string, string | readonly number[]>>) => void;
}) {
  const others = choices.versions.map(({ step }) => step).filter((step) => !versions.includes(step));
  return (
    <form class="filters" aria-label="Evaluation" onSubmit={(event) => event.preventDefault()}>
      <label>
        Split
        <select value={split} onChange={(event) => onChange({ split: event.currentTarget.value })}>
          {choices.splits.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {versions.map((version, index) => (
        <label key={index}>
          {index === 0 ? "Compare version" : "with version"}
          <select
            value={String(version)}
            onChange={({ currentTarget: { value } }) =>
              onChange({ v: versions.map((step, column) => (column === index ? Number(value) : step)) })
            }
          >
            {[version, ...others]
              .toSorted((a, b) => a - b)
              .map((step) => (
                <option key={step} value={String(step)}>
                  {step}
                </option>
              ))}
          </select>
        </label>
      ))}
      {!isFull && others.length > 0 && (
        <button type="button" onClick={() => onChange({ v: [...versions, others.at(-1) ?? 0] })}>
          Add a version
        </button>
      )}
      {versions.length > 2 && (
        <button type="button" onClick={() => onChange({ v: versions.slice(0, -1) })}>
          Remove the last
        </button>
      )}
      {measures.length > 1 && (
        <label>
          Measure
          <select value={measure} onChange={(event) => onChange({ measure: event.currentTarget.value })}>
            {measures.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        Order
        <select value={order} onChange={(event) => onChange({ order: event.currentTarget.value })}>
          {Object.entries(orders).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}
