// What was promised of versions: consecutive, one for each job that succeeded, and of each that is not deleted the whole
// adapter, with the bytes that its job makes when nothing goes wrong.
import { adapterFolderOf } from "../../../src/domain/model.ts";
import { adapterFiles } from "../../../src/model/hashes/adapter-hash.ts";
import type { Operation, Remains } from "../history.ts";
import { trainedMatrices } from "../trainer.ts";
import { asked } from "./asked.ts";

export function versionFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return [
    ...remains.models.flatMap((modelId) => stepFaults(modelId, remains)),
    ...remains.models.flatMap((modelId) => adapterFaults(modelId, remains)),
    ...servedFaults(history, remains),
    ...deletionFaults(history, remains),
  ];
}

function stepFaults(modelId: string, { versions, jobs }: Remains): readonly string[] {
  const own = versions.filter((version) => version.modelId === modelId);
  const faults: string[] = [];
  if (own.some(({ step }, index) => step !== index))
    faults.push(`model ${modelId} has the versions ${own.map(({ step }) => step).join(", ")}`);
  const succeeded = jobs.filter((job) => job.modelId === modelId && job.state === "succeeded");
  const made = own.slice(1).map(({ step, jobId }) => `${String(jobId)} ${step}`);
  const told = succeeded
    .toSorted((one, other) => Number(one.resultStep) - Number(other.resultStep))
    .map(({ id, resultStep }) => `${id} ${String(resultStep)}`);
  if (JSON.stringify(made) !== JSON.stringify(told))
    faults.push(`model ${modelId} has versions of ${made.join(", ")}, and its jobs made ${told.join(", ")}`);
  return faults;
}

/** What an adapter holds where every job made what it makes; null where no job made it. */
export function matricesOf(modelId: string, step: number, { jobs }: Pick<Remains, "jobs">): string | null {
  if (step === 0) return "";
  const job = jobs.find((one) => one.modelId === modelId && one.resultStep === step);
  if (job === undefined || job.pins === null) return null;
  const from = matricesOf(modelId, job.pins.startStep, { jobs });
  return from === null ? null : trainedMatrices(job.pins.seed, from);
}

function adapterFaults(modelId: string, remains: Remains): readonly string[] {
  const live = remains.versions.filter(
    (version) => version.modelId === modelId && version.step > 0 && !version.isDeleted,
  );
  return live.flatMap(({ step }) => {
    const folder = `/${adapterFolderOf(modelId, step)}`;
    const matrices = remains.disk.get(`${folder}/${adapterFiles.matrices}`);
    const isWhole =
      matrices === matricesOf(modelId, step, remains) &&
      remains.disk.get(`${folder}/${adapterFiles.config}`) === JSON.stringify({ rank: 8 });
    return isWhole ? [] : [`the adapter of version ${step} of model ${modelId} is not whole`];
  });
}

/** Who asked for a version that was one got what its job made. */
function servedFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return asked(history, "serve").flatMap(({ modelId, outcome, endedMs }) => {
    if (outcome.kind !== "done" || outcome.result === null) return [];
    const { step, matrices, isLive } = outcome.result;
    const at = `at ${Math.round(endedMs)} ms`;
    if (matrices === null)
      return isLive ? [`version ${step} of model ${modelId} could not be served ${at}`] : [];
    if (!remains.models.includes(modelId)) return [];
    if (matrices === matricesOf(modelId, step, remains)) return [];
    return [`version ${step} of model ${modelId} was served otherwise than its job made it, ${at}`];
  });
}

/** What was said to be deleted is. */
function deletionFaults(history: readonly Operation[], { versions, disk }: Remains): readonly string[] {
  return asked(history, "delete versions").flatMap(({ modelId, outcome }) =>
    (outcome.kind === "done" ? outcome.result : []).flatMap((step) => {
      const isLive = versions.some(
        (version) => version.modelId === modelId && version.step === step && !version.isDeleted,
      );
      const folder = `/${adapterFolderOf(modelId, step)}/`;
      const isKept = [...disk.keys()].some((path) => path.startsWith(folder));
      return isLive || isKept ? [`version ${step} of model ${modelId} was deleted, and is there`] : [];
    }),
  );
}
