// View that compares versions of a model: rewards per prompt, differences, and the answers behind them.
import type { Hone } from "../../client/hone.ts";
import { Shown } from "../components/shown.tsx";
import { AnswerPair } from "../evaluation/answer-pair.tsx";
import { EvaluationForm } from "../evaluation/evaluation-form.tsx";
import {
  answersWanted,
  evaluationFile,
  type EvaluationRow,
  evaluationRows,
  evaluationSummary,
  hasFewAnswers,
  measuresOf,
  rewardMeasure,
  type RowOrder,
  rowOrders,
} from "../evaluation/evaluation-rows.ts";
import { EvaluationTable } from "../evaluation/evaluation-table.tsx";
import {
  type EvaluationChoices,
  loadChoices,
  loadOutlines,
  usualVersions,
} from "../evaluation/load-evaluation.ts";
import { ModelPage } from "../model/model-page.tsx";
import { PinButton } from "../evaluation/pin-button.tsx";
import { place, replaceQuery } from "../router.ts";
import { saveBlob } from "../components/save-file.ts";
import { toCsv } from "../components/tables/rows-file.ts";
import { useLoaded } from "../use-loaded.ts";

/** Maximum number of versions that are compared. */
const versionsMax = 6;

export function EvaluationView({ hone, modelId }: { readonly hone: Hone; readonly modelId: string }) {
  const model = useLoaded((signal) => hone.models.get(modelId, { signal }), [hone, modelId]);
  const choices = useLoaded((signal) => loadChoices(hone, modelId, signal), [hone, modelId]);
  return (
    <ModelPage id={modelId} model={model.value} tab="evaluation">
      <Shown loaded={choices}>
        {(offered) => <Evaluation hone={hone} modelId={modelId} choices={offered} onPin={choices.reload} />}
      </Shown>
    </ModelPage>
  );
}

function Evaluation({
  hone,
  modelId,
  choices,
  onPin,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly choices: EvaluationChoices;
  readonly onPin: () => void;
}) {
  const { query } = place.value;
  const split = query.get("split") ?? (choices.splits.includes("val") ? "val" : (choices.splits[0] ?? "val"));
  const asked = query.getAll("v").map(Number).filter(Number.isInteger);
  const versions = (asked.length === 0 ? usualVersions(choices, split) : asked).slice(0, versionsMax);
  const order: RowOrder =
    query.get("order") === "gain" ? "gain" : query.get("order") === "loss" ? "loss" : "change";
  const measure = query.get("measure") ?? rewardMeasure;
  const outlines = useLoaded(
    (signal) => Promise.all(versions.map((step) => loadOutlines(hone, modelId, { split, step }, signal))),
    [hone, modelId, split, versions.join()],
  );
  const put = (changed: Readonly<Record<string, string | readonly number[]>>): void =>
    replaceQuery((now) => {
      for (const [name, value] of Object.entries(changed)) {
        now.delete(name);
        for (const one of [value].flat()) now.append(name, String(one));
      }
    });
  const opened = query.has("prompt")
    ? { prompt: query.get("prompt") ?? "", version: Number(query.get("version")) }
    : null;
  if (choices.splits.length === 0)
    return (
      <p>
        No evaluations yet. Log the trajectories of an evaluation under a split such as <code>val</code>, once
        for each version.
      </p>
    );
  return (
    <>
      <EvaluationForm
        choices={choices}
        split={split}
        versions={versions}
        order={order}
        orders={rowOrders}
        measure={measure}
        measures={[...new Set([...measuresOf(outlines.value ?? []), measure])]}
        isFull={versions.length >= versionsMax}
        onChange={put}
      />
      <p class="links">
        {versions
          .filter((step) => step > 0)
          .map((step) => (
            <PinButton
              key={step}
              hone={hone}
              modelId={modelId}
              step={step}
              isPinned={choices.versions.some((version) => version.step === step && version.pinned)}
              onChange={onPin}
            />
          ))}
      </p>
      <Shown loaded={outlines}>
        {(found) => {
          const rows = evaluationRows(found, order, measure);
          if (rows.length === 0) return <p>These versions have no logged trajectories of this split.</p>;
          return (
            <>
              <Verdict rows={rows} versions={versions} measure={measure} />
              {hasFewAnswers(rows) && (
                <p class="muted">
                  Most prompts have fewer than {answersWanted} answers per version (n), so a difference of a
                  prompt may be chance. Log several answers to each prompt, or trust only the mean of many
                  prompts.
                </p>
              )}
              <EvaluationTable
                rows={rows}
                versions={versions}
                measure={measure}
                opened={opened}
                onOpen={(prompt, version) => put({ prompt, version: String(version) })}
              />
              <p class="links">
                <button
                  type="button"
                  onClick={() =>
                    saveBlob(
                      new Blob([toCsv(evaluationFile(rows, versions, measure))], { type: "text/csv" }),
                      `evaluation-${split}-${measure}.csv`.replaceAll(/[^\w.-]+/g, "-"),
                    )
                  }
                >
                  CSV
                </button>
              </p>
              <Opened hone={hone} modelId={modelId} rows={rows} versions={versions} opened={opened} />
            </>
          );
        }}
      </Shown>
    </>
  );
}

/** Says on how many prompts the last version is better or worse than the first. */
function Verdict({
  rows,
  versions,
  measure,
}: {
  readonly rows: readonly EvaluationRow[];
  readonly versions: readonly number[];
  readonly measure: string;
}) {
  const { better, worse, equal } = evaluationSummary(rows);
  if (versions.length < 2) return null;
  const isReward = measure === rewardMeasure;
  return (
    <p role="status">
      Compared with version {versions[0]}, {isReward ? "" : `${measure} of `}version {versions.at(-1)} is{" "}
      {isReward ? "better" : "higher"} on <strong>{better}</strong> {better === 1 ? "prompt" : "prompts"},{" "}
      {isReward ? "worse" : "lower"} on <strong>{worse}</strong>, and equal on <strong>{equal}</strong>.
    </p>
  );
}

/** Answers behind the opened cell, compared with those of the first version. */
function Opened({
  rows,
  versions,
  opened,
  ...server
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: readonly EvaluationRow[];
  readonly versions: readonly number[];
  readonly opened: { readonly prompt: string; readonly version: number } | null;
}) {
  const cells = rows.find(({ prompt }) => prompt === opened?.prompt)?.cells ?? [];
  // The cell of the first version is compared with the last version.
  const chosen = Math.max(0, versions.indexOf(opened?.version ?? -1));
  const other = chosen === 0 ? versions.length - 1 : chosen;
  const [before, after] = [cells[0] ?? null, cells[other] ?? null];
  if (opened === null || before === null || after === null) return null;
  return (
    <AnswerPair
      {...server}
      prompt={opened.prompt}
      sides={[
        { version: versions[0] ?? 0, cell: before },
        { version: versions[other] ?? 0, cell: after },
      ]}
    />
  );
}
