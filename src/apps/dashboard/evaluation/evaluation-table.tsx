// Table of an evaluation: a row per prompt, a column per version. A cell opens the answers.
import { costText } from "../../client/cost-text.ts";
import { counted, shortNumber, shownDifference } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import { differingTexts } from "../components/tables/differing-texts.ts";
import { type EvaluationRow, evaluationSummary, meanCosts, rewardMeasure } from "./evaluation-rows.ts";

export function EvaluationTable({
  rows,
  versions,
  measure,
  opened,
  onOpen,
}: {
  readonly rows: readonly EvaluationRow[];
  readonly versions: readonly number[];
  readonly measure: string;
  readonly opened: { readonly prompt: string; readonly version: number } | null;
  readonly onOpen: (prompt: string, version: number) => void;
}) {
  const { means, sharedCount } = evaluationSummary(rows);
  const costs = meanCosts(rows);
  const prompts = differingTexts(rows.map(({ prompt }) => prompt));
  return (
    <WideTable label={`${measure === rewardMeasure ? "Rewards" : measure} by prompt and version`}>
      <thead>
        <tr>
          <th scope="col">prompt</th>
          {versions.map((version) => (
            <th key={version} scope="col" class="number">
              version {version}
            </th>
          ))}
          <th scope="col" class="number">
            difference
          </th>
        </tr>
      </thead>
      <tbody>
        <tr class="summary">
          <th scope="row">mean of {counted(sharedCount, "prompt")}</th>
          {means.map((mean, index) => (
            <td key={index} class="number">
              <strong>{shortNumber(mean)}</strong>
            </td>
          ))}
          <td class="number">
            <Difference of={[means[0], means.at(-1)]} isReward={measure === rewardMeasure} />
          </td>
        </tr>
        {costs.some(({ cost }) => cost !== null) && (
          <tr class="summary">
            <th scope="row">mean cost of a trajectory</th>
            {costs.map((cost, index) => (
              <td key={index} class="number">
                {costText(cost) ?? "–"}
              </td>
            ))}
            <td />
          </tr>
        )}
        {rows.map(({ prompt, cells }, place) => (
          <tr key={prompt}>
            <td class="words" title={prompt} dir="auto">
              {prompts[place]}
            </td>
            {cells.map((cell, index) => {
              const version = versions[index] ?? 0;
              return (
                <td key={version} class="number">
                  {cell === null ? (
                    "–"
                  ) : (
                    <>
                      <button
                        type="button"
                        class="plain"
                        aria-pressed={opened?.prompt === prompt && opened.version === version}
                        aria-label={`${shortNumber(cell.mean)}, answers of version ${version}`}
                        title={`Mean of ${counted(cell.outlines.length, "trajectory", "trajectories")}`}
                        onClick={() => onOpen(prompt, version)}
                      >
                        {shortNumber(cell.mean)}
                      </button>
                      <small class="muted"> n = {cell.outlines.length}</small>
                    </>
                  )}
                </td>
              );
            })}
            <td class="number">
              <Difference of={[cells[0]?.mean, cells.at(-1)?.mean]} isReward={measure === rewardMeasure} />
            </td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

/** A difference with its sign; a difference of rewards has the colour of a gain or a loss. */
function Difference({
  of: [before = NaN, after = NaN],
  isReward,
}: {
  readonly of: readonly [before: number | undefined, after: number | undefined];
  readonly isReward: boolean;
}) {
  const by = shownDifference(before, after);
  const sign = !isReward ? "" : by > 0 ? "gain" : by < 0 ? "loss" : "";
  return <span class={sign}>{`${by > 0 ? "+" : ""}${shortNumber(by)}`}</span>;
}
