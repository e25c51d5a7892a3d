// The numbers of a chart as a table, for screen readers and for copying. Steps link to their details.
import { shortNumber } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import type { Curve, Point, PointAddress, StepName } from "./curve.ts";

/** Maximum number of table rows. The newest are shown; the CSV file has all. */
const rowsMax = 200;

export function ChartTable({
  curve,
  addressOfPoint,
  stepName,
}: {
  readonly curve: Curve;
  readonly addressOfPoint: PointAddress;
  readonly stepName: StepName;
}) {
  const { label, lines } = curve;
  const steps = [...new Set(lines.flatMap(({ points }) => points.map(({ step }) => step)))].sort(
    (a, b) => a - b,
  );
  const pointAt = lines.map(({ points }) => new Map(points.map((point) => [point.step, point])));
  return (
    <details>
      <summary>{label} as numbers</summary>
      <WideTable label={`${label} as numbers`}>
        <thead>
          <tr>
            <th scope="col" class="number">
              {stepName}
            </th>
            {lines.map(({ name, colour }) => (
              <th key={colour} scope="col" class="number" title={name}>
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
                const point = pointAt[index]?.get(step);
                const address = point === undefined ? null : addressOfPoint(colour, step, label);
                const text = point === undefined ? "–" : valueText(point);
                return (
                  <td key={colour} class="number">
                    {address === null ? (
                      text
                    ) : (
                      <a href={address} aria-label={`${text}, details of ${name} at ${stepName} ${step}`}>
                        {text}
                      </a>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </WideTable>
    </details>
  );
}

/** Returns the value of a point; for a mean of several runs, also their least and greatest value. */
function valueText({ value, range }: Point): string {
  const [least, greatest] = range ?? [value, value];
  const text = shortNumber(value);
  return least === greatest ? text : `${text} (${shortNumber(least)} to ${shortNumber(greatest)})`;
}
