// The numbers of a chart as a table, for screen readers and for copying. Steps link to their details.
import { shortNumber } from "../components/numbers.ts";
import type { Curve, PointAddress } from "./curve.ts";

/** Maximum number of table rows. The newest are shown; the CSV file has all. */
const rowsMax = 200;

export function ChartTable({
  curve,
  addressOfPoint,
}: {
  readonly curve: Curve;
  readonly addressOfPoint: PointAddress;
}) {
  const { label, lines } = curve;
  const steps = [...new Set(lines.flatMap(({ points }) => points.map(({ step }) => step)))].sort(
    (a, b) => a - b,
  );
  const valueAt = lines.map(({ points }) => new Map(points.map(({ step, value }) => [step, value])));
  return (
    <details>
      <summary>{label} as numbers</summary>
      <table>
        <thead>
          <tr>
            <th scope="col" class="number">
              step
            </th>
            {lines.map(({ name, colour }) => (
              <th key={colour} scope="col" class="number">
                {name === "" ? label : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.slice(-rowsMax).map((step) => (
            <tr key={step}>
              <td class="number">{step}</td>
              {lines.map(({ name, colour }, index) => {
                const value = valueAt[index]?.get(step);
                const address = value === undefined ? null : addressOfPoint(colour, step, label);
                const text = shortNumber(value ?? NaN);
                return (
                  <td key={colour} class="number">
                    {address === null ? (
                      text
                    ) : (
                      <a href={address} aria-label={`${text}, details of ${name} at step ${step}`}>
                        {text}
                      </a>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
