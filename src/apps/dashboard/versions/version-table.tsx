// Table of a model's versions: rewards, the best one, the job of each, and buttons that download, pin or delete one.
import type { Checkpoint, ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { metricText } from "../charts/metric-texts.ts";
import { PinButton } from "../evaluation/pin-button.tsx";
import { ActionButton } from "../components/forms/action-button.tsx";
import { shortNumber } from "../components/numbers.ts";
import { saveFile } from "../components/save-file.ts";
import { When, WideTable } from "../components/shown.tsx";
import { chatAddress, nameOf } from "../model/model-path.ts";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { versionsMax } from "../views/newest-versions.ts";
import { bestVersion, rewardColumns } from "../views/version-curves.ts";
import { DeleteVersion } from "./delete-version.tsx";

export function VersionTable({
  hone,
  model,
  versions,
  onChange,
}: {
  readonly hone: Hone;
  readonly model: ModelObject;
  readonly versions: readonly Checkpoint[];
  readonly onChange: () => void;
}) {
  const rewards = rewardColumns(versions);
  const best = bestVersion(versions);
  const save = async (step: number): Promise<void> =>
    saveFile(await hone.checkpoints.export(model.id, step, "peft"), `${model.name}-step${step}.tar`);
  return (
    <section>
      <h2 id="versions">Versions</h2>
      {versions.length === versionsMax && (
        <p class="muted">Only the newest {versionsMax} versions are shown.</p>
      )}
      <WideTable label="Versions">
        <thead>
          <tr>
            <th scope="col" class="number">
              version
            </th>
            {rewards.map((name) => (
              <th key={name} scope="col" class="number" title={metricText(name) ?? undefined}>
                {name}
              </th>
            ))}
            <th scope="col">created</th>
            <th scope="col">trained by</th>
            <th scope="col">compare</th>
            <th scope="col">adapter</th>
            <th scope="col">
              <span class="hidden">actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.toReversed().map(({ step, metrics, created_at: createdAt, job_id: jobId, pinned }) => (
            <tr key={step}>
              <td class="number">
                {step}
                {pinned && " (pinned)"}
                {step === best?.step && (
                  <>
                    {" "}
                    <span
                      class="tag"
                      title={`Highest ${best.metric} of the shown versions. ${metricText(best.metric) ?? ""}`}
                    >
                      best
                    </span>
                  </>
                )}
              </td>
              {rewards.map((name) => (
                <td key={name} class="number">
                  {shortNumber(metrics[name] ?? NaN)}
                </td>
              ))}
              <td>
                <When at={createdAt} />
              </td>
              <td>{jobId === null ? "–" : <a href={addressOf("jobs", [jobId])}>job</a>}</td>
              <td>
                {step > 0 && may("chat") && (
                  <a href={chatAddress(`${nameOf(model)}:step${step}`, `${nameOf(model)}:step${step - 1}`)}>
                    with version {step - 1}
                  </a>
                )}
              </td>
              <td>
                {step > 0 && (
                  <ActionButton
                    class="plain"
                    act={() => save(step)}
                    label={`Download the adapter of version ${step}`}
                  >
                    Download
                  </ActionButton>
                )}
              </td>
              <td>
                {step > 0 && (
                  <PinButton
                    hone={hone}
                    modelId={model.id}
                    step={step}
                    isPinned={pinned}
                    isBrief
                    onChange={onChange}
                  />
                )}
                {step > 0 && !pinned && (
                  <DeleteVersion hone={hone} modelId={model.id} step={step} onChange={onChange} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </WideTable>
    </section>
  );
}
