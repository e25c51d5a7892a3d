// View of a trained model: curves over its versions, and a table of the versions.
import type { Checkpoint, ModelObject } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ChartBoard } from "../charts/chart-board.tsx";
import { DeleteVersion } from "../versions/delete-version.tsx";
import { Failure } from "../components/forms/failure.tsx";
import { shortNumber } from "../components/numbers.ts";
import { saveFile } from "../components/save-file.ts";
import { Facts, Shown, View, When, WideTable } from "../components/shown.tsx";
import { LearningPanel } from "../learning/learning-panel.tsx";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { messageOf } from "../components/errors/error-text.ts";
import { useLoaded } from "../use-loaded.ts";
import { newestVersions, versionsMax } from "./newest-versions.ts";
import { versionAddresses } from "../runs/version-address.ts";
import { curvesOf, rewardColumns, rewardTitles } from "./version-curves.ts";
import { useMemo, useState } from "preact/hooks";

const everyMs = 5000;

export function ModelView({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const model = useLoaded((signal) => hone.models.get(id, { signal }), [hone, id]);
  const versions = useLoaded((signal) => newestVersions(hone, id, signal), [hone, id], everyMs);
  return (
    <View title={model.value === null ? "Model" : `${model.value.project}/${model.value.name}`}>
      <Shown loaded={model}>
        {(value) => (
          <>
            <Facts
              of={[
                ["entity", value.entity],
                ["base", value.base_model],
                ["registered", <When at={value.created_at} />],
                ["model name", <code>{nameOf(value)}</code>],
              ]}
            />
            <p class="links">
              <a href={addressOf("jobs", [], { model: nameOf(value) })}>Jobs</a>
              <a href={addressOf("trajectories", [id])}>Trajectories</a>
              <a href={addressOf("conversations", [], { model: id })}>Conversations</a>
              {may("chat") && (
                <>
                  <a href={chatAddress(nameOf(value))}>Chat</a>
                  <a href={chatAddress(nameOf(value), value.base_model)}>Compare with the base model</a>
                </>
              )}
              {may("train") && (
                <>
                  <a href={addressOf("train", [], { model: id })}>Train on a file</a>
                  <a href={addressOf("train", [], { feedback: id })}>Train on feedback</a>
                </>
              )}
              <a href={addressOf("evaluation", [id])}>Evaluation</a>
              <a href={addressOf("runs", [], { ids: id })}>Overlay with others</a>
            </p>
            <Shown loaded={versions}>
              {(steps) => (
                <>
                  <Curves modelId={id} versions={steps} />
                  <Versions hone={hone} model={value} versions={steps} onChange={versions.reload} />
                  <LearningPanel hone={hone} id={id} />
                </>
              )}
            </Shown>
          </>
        )}
      </Shown>
    </View>
  );
}

function Curves({
  modelId,
  versions,
}: {
  readonly modelId: string;
  readonly versions: readonly Checkpoint[];
}) {
  const curves = useMemo(() => curvesOf(versions), [versions]);
  if (curves.length === 0) return null;
  const addressAt = versionAddresses(modelId, versions);
  return (
    <section aria-labelledby="curves">
      <h2 id="curves">Curves over versions</h2>
      <p class="muted">Click a point to read the trajectories behind it.</p>
      <ChartBoard curves={curves} addressOfPoint={(_, step, label) => addressAt(step, label)} />
    </section>
  );
}

function Versions({
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
  const [failure, setFailure] = useState<string | null>(null);
  const [savedStep, setSavedStep] = useState<number | null>(null);
  const save = async (step: number): Promise<void> => {
    setFailure(null);
    setSavedStep(step);
    try {
      await saveFile(await hone.checkpoints.export(model.id, step, "peft"), `${model.name}-step${step}.tar`);
    } catch (error) {
      setFailure(messageOf(error));
    } finally {
      setSavedStep(null);
    }
  };
  return (
    <section>
      <h2 id="versions">Versions</h2>
      {versions.length === versionsMax && (
        <p class="muted">Only the newest {versionsMax} versions are shown.</p>
      )}
      <Failure of={failure} />
      <WideTable label="Versions">
        <thead>
          <tr>
            <th scope="col" class="number">
              version
            </th>
            {rewards.map((name) => (
              <th key={name} scope="col" class="number" title={rewardTitles[name]}>
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
                  <button
                    type="button"
                    class="plain"
                    disabled={savedStep !== null}
                    onClick={() => void save(step)}
                    aria-label={`Download the adapter of version ${step}`}
                  >
                    {savedStep === step ? "Downloading …" : "Download"}
                  </button>
                )}
              </td>
              <td>
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

/** Returns the name by which requests select the model's newest version. */
export function nameOf({ entity, project, name }: ModelObject): string {
  return `${entity}/${project}/${name}`;
}

/** Returns the address of a chat with these models or versions, side by side. */
function chatAddress(...names: readonly string[]): string {
  return `${addressOf("chat")}?${new URLSearchParams(names.map((name) => ["m", name])).toString()}`;
}
