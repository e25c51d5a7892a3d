// Table of stored trajectories: prompt, answer, reward, and the metrics that most rows have.
import type { TrajectoryOutline } from "../../client/api.ts";
import { When, WideTable } from "../components/shown.tsx";
import { metricColumns } from "./list-query.ts";
import { metricText } from "./metric-text.ts";

const metricColumnsMax = 4;

export function TrajectoryTable({
  rows,
  addressOf,
}: {
  readonly rows: readonly TrajectoryOutline[];
  readonly addressOf: (id: string) => string;
}) {
  const metrics = metricColumns(rows, metricColumnsMax);
  return (
    <WideTable label="Trajectories">
      <thead>
        <tr>
          <Column title="#" isNumber />
          <Column title="reward" isNumber />
          <Column title="prompt" />
          <Column title="answer" />
          {metrics.map((name) => (
            <Column key={name} title={name} isNumber isMetric />
          ))}
          <Column title="tokens" isNumber />
          <Column title="source" />
          <Column title="stored" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td class="number">
              <a href={addressOf(row.id)} data-row>
                {row.id}
              </a>
            </td>
            <td class="number">{metricText(row.reward)}</td>
            <td class="words" dir="auto">
              {row.prompt}
            </td>
            <td class="words" dir="auto">
              {row.answer}
            </td>
            {metrics.map((name) => (
              <td key={name} class="number">
                {metricText(row.metrics[name])}
              </td>
            ))}
            <td class="number">{row.token_count === 0 ? "" : row.token_count}</td>
            <td class="brief" title={sourceText(row)}>
              {sourceText(row)}
            </td>
            <td>
              <When at={row.recorded_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

/** Describes the origin of a trajectory, such as `val, version 3`. */
export function sourceText({
  source,
  split,
  step,
}: Pick<TrajectoryOutline, "source" | "split" | "step">): string {
  const from = source === "job" ? "training job" : split;
  return step === null ? from : `${from}, version ${step}`;
}

function Column({
  title,
  isNumber = false,
  isMetric = false,
}: {
  readonly title: string;
  readonly isNumber?: boolean;
  readonly isMetric?: boolean;
}) {
  return (
    <th scope="col" class={isNumber ? "number" : undefined} title={isMetric ? title : undefined}>
      {title}
    </th>
  );
}
