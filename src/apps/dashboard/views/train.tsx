// View that creates a training job: on an uploaded file, on feedback, or again on the data of an earlier job.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { ModelField } from "../components/forms/model-field.tsx";
import { modelNamed, shortName } from "../components/forms/model-named.ts";
import { useAction } from "../components/forms/use-action.ts";
import { counted } from "../components/numbers.ts";
import { Shown, View } from "../components/shown.tsx";
import { FromFeedback } from "../training/from-feedback.tsx";
import { JobAgain } from "../training/job-again.tsx";
import { estimate } from "../training/estimate.ts";
import { JobEstimate } from "../training/job-estimate.tsx";
import type { Chosen } from "../training/settings.ts";
import { RowPreview } from "../training/row-preview.tsx";
import { JobForm } from "../training/job-form.tsx";
import type { Settings } from "../training/settings.ts";
import { type FileKind, fileKinds, readRows, type TrainingRows } from "../training/training-rows.ts";
import { addressOf, place, replaceQuery } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";

/** Maximum size of a file that the page reads; the command line uploads larger files. */
const fileBytesMax = 64_000_000;

export function TrainView({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const [jobId, feedbackModelId] = [query.get("job"), query.get("feedback")];
  const model = query.get("model") ?? feedbackModelId ?? "";
  if (jobId !== null)
    return (
      <View title="Train again" path={[["Jobs", addressOf("jobs")]]}>
        <JobAgain hone={hone} jobId={jobId} />
      </View>
    );
  const isOnFeedback = feedbackModelId !== null || query.get("from") === "feedback";
  return (
    <View title="New training job" path={[["Jobs", addressOf("jobs")]]}>
      <nav class="tabs" aria-label="Data of the job">
        <a href={addressOf("train", [], { model })} aria-current={isOnFeedback ? undefined : "page"}>
          On a file
        </a>
        <a
          href={addressOf("train", [], model === "" ? { from: "feedback" } : { feedback: model })}
          aria-current={isOnFeedback ? "page" : undefined}
        >
          On feedback
        </a>
      </nav>
      {!isOnFeedback ? (
        <FromFile hone={hone} modelId={model} />
      ) : feedbackModelId === null ? (
        <ChooseModel hone={hone} />
      ) : (
        <FromFeedback hone={hone} modelId={feedbackModelId} />
      )}
    </View>
  );
}

/** Field for the model to train on feedback. The address then names the model. */
function ChooseModel({ hone }: { readonly hone: Hone }) {
  const { failure, run } = useAction();
  const choose = async (name: string): Promise<void> => {
    const { id } = await modelNamed(hone, name);
    replaceQuery((query) => {
      query.delete("from");
      query.set("feedback", id);
    });
  };
  return (
    <>
      <p>Trains a model on thumbs and other feedback about its answers.</p>
      <div class="fields">
        <ModelField hone={hone} label="Model" isRequired onChoose={(name) => run(() => choose(name))} />
      </div>
      <Failure of={failure} />
    </>
  );
}

function FromFile({ hone, modelId }: { readonly hone: Hone; readonly modelId: string }) {
  const [name, setName] = useState<string | null>(null);
  const [kind, setKind] = useState<FileKind>("sft");
  const [file, setFile] = useState<File | null>(null);
  const chosen = useLoaded(
    async (signal) => {
      if (name !== null) return name === "" ? null : await modelNamed(hone, name, signal);
      return modelId === "" ? null : await hone.models.get(modelId, { signal });
    },
    [hone, modelId, name],
  );
  const model = chosen.value;
  const read = useLoaded(async (): Promise<TrainingRows | null> => {
    if (file === null) return null;
    if (file.size > fileBytesMax)
      throw new Error(
        `The file has ${Math.ceil(file.size / 1e6)} MB; the page reads at most ${fileBytesMax / 1e6} MB. Use hone jobs sft or hone jobs preference.`,
      );
    return readRows(await file.text(), kind);
  }, [file, kind]);
  const create = async (config: Settings): Promise<string> => {
    if (file === null) throw new Error("Choose a file.");
    if (model === null) throw new Error(chosen.failure ?? "Choose a model.");
    const uploaded = await hone.files.upload(file, file.name);
    try {
      const { id } = await (kind === "sft"
        ? hone.jobs.createSupervised({ model_id: model.id, training_data_url: uploaded.id, config })
        : hone.jobs.createPreference({ model_id: model.id, file_id: uploaded.id, config }));
      return id;
    } finally {
      // The job has its own copy of the data.
      await hone.files.delete(uploaded.id);
    }
  };
  const rows = read.value?.rows ?? [];
  return (
    <JobForm
      hone={hone}
      kind={kind}
      isReady={rows.length > 0 && read.value?.faults.length === 0}
      create={create}
      preview={(chosen) =>
        rows.length > 0 && (
          <>
            {model !== null && (
              <Size hone={hone} modelId={model.id} rows={rows} kind={kind} chosen={chosen} />
            )}
            <RowPreview rows={rows} kind={kind} />
          </>
        )
      }
    >
      <div class="fields">
        <ModelField
          hone={hone}
          label="Model"
          isRequired
          value={model === null ? "" : shortName(model)}
          onChoose={setName}
        />
        <label>
          Kind
          <select
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value === "preference" ? "preference" : "sft")}
          >
            {Object.entries(fileKinds).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          File, with a JSON object per line
          <input
            type="file"
            accept=".jsonl,.ndjson,application/jsonl"
            required
            onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
          />
        </label>
      </div>
      <Failure of={chosen.failure} />
      <Shown loaded={read}>{(found) => found !== null && <Faults of={found} />}</Shown>
    </JobForm>
  );
}

function Faults({ of: { rows, faults } }: { readonly of: TrainingRows }) {
  if (faults.length === 0) return null;
  return (
    <div class="warning" role="status">
      <p>
        {rows.length === 0 ? "No line can be trained on." : "Some lines cannot be trained on."} The server
        refuses such a file.
      </p>
      <ul>
        {faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );
}

/** Size of the job, and its expected time and cost. */
function Size({
  hone,
  modelId,
  chosen,
  ...data
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: TrainingRows["rows"];
  readonly kind: FileKind;
  readonly chosen: Chosen;
}) {
  const loaded = useLoaded(
    (signal) => estimate(hone, modelId, data, signal),
    [hone, modelId, data.rows, data.kind],
  );
  return (
    <Shown loaded={loaded}>
      {(size) => (
        <section aria-labelledby="size">
          <h2 id="size">{counted(data.rows.length, "row")}</h2>
          <JobEstimate hone={hone} modelId={modelId} size={size} chosen={chosen} />
        </section>
      )}
    </Shown>
  );
}
