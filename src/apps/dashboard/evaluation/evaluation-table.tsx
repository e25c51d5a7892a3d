// Table of an evaluation: a row per prompt, a column per version. A cell opens the answers.
import { counted, shortNumber } from "../components/numbers.ts";
import { WideTable } from "../components/shown.tsx";
import { type EvaluationRow, evaluationSummary } from "./evaluation-rows.ts";

export function EvaluationTable({
  rows,
  versions,
  opened,
  onOpen,
}: {
  readonly rows: readonly EvaluationRow[];
  readonly versions: readonly number[];
  readonly opened: { readonly prompt: string; readonly version: number } | null;
  readonly onOpen: (prompt: string, version: number) => void;
}) {
  const { meanRewards, sharedCount } = evaluationSummary(rows);
  return (
    <WideTable label="Rewards by prompt and version">
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
          {meanRewards.map((mean, index) => (
            <td key={index} class="number">
              <strong>{shortNumber(mean)}</strong>
            </td>
          ))}
          <td class="number">
            <Difference of={(meanRewards.at(-1) ?? NaN) - (meanRewards[0] ?? NaN)} />
          </td>
        </tr>
        {rows.map(({ prompt, cells, difference }) => (
          <tr key={prompt}>
            <td class="words" title={prompt} dir="auto">
              {prompt}
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
                        aria-label={`${shortNumber(cell.meanReward)}, answers of version ${version}`}
                        title={`Mean of ${counted(cell.outlines.length, "trajectory", "trajectories")}`}
                        onClick={() => onOpen(prompt, version)}
                      >
                        {shortNumber(cell.meanReward)}
                      </button>
                      <small class="muted"> n = {cell.outlines.length}</small>
                    </>
                  )}
                </td>
              );
            })}
            <td class="number">{difference === null ? "–" : <Difference of={difference} />}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

/** A difference with its sign, in the colour of a gain or a loss. */
function Difference({ of }: { readonly of: number }) {
  const sign = of > 0 ? "gain" : of < 0 ? "loss" : "";
  return <span class={sign}>{`${of > 0 ? "+" : ""}${shortNumber(of).replace("-", "−")}`}</span>;
}
