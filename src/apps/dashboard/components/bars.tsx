// Bars of counts: one row for each value, or a histogram of numbers.
import { shortNumber } from "./numbers.ts";

/** @param format formats a count; by default with separators of thousands */
export function ValueBars({
  values,
  format = (count) => count.toLocaleString("en"),
}: {
  readonly values: readonly (readonly [string, number])[];
  readonly format?: (count: number) => string;
}) {
  const most = Math.max(1, ...values.map(([, count]) => count));
  return (
    <table class="value-bars">
      <tbody>
        {values.map(([value, count]) => (
          <tr key={value}>
            <th scope="row" dir="auto" title={value}>
              {value}
            </th>
            <td class="bar" aria-hidden="true">
              <i style={{ width: `${(100 * count) / most}%` }} />
            </td>
            <td class="number">{format(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Histogram({
  counts,
  min,
  max,
}: {
  readonly counts: readonly number[];
  readonly min: number;
  readonly max: number;
}) {
  const most = Math.max(1, ...counts);
  const width = (max - min) / counts.length;
  return (
    <div
      role="img"
      aria-label={`Histogram from ${shortNumber(min)} to ${shortNumber(max)}: ${counts.join(", ")}`}
    >
      <div class="bars">
        {counts.map((count, index) => (
          <i
            key={index}
            title={`${shortNumber(min + index * width)} to ${shortNumber(min + (index + 1) * width)}: ${count}`}
            style={{ height: `${(100 * count) / most}%` }}
          />
        ))}
      </div>
      <div class="now-line muted bar-axis">
        <span>{shortNumber(min)}</span>
        <span>{shortNumber(max)}</span>
      </div>
    </div>
  );
}
