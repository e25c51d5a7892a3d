// Checks the promises about versions. Versions are consecutive, and each successful job has one. Each version that is
// not deleted has its complete adapter, byte for byte as its job would write it without faults.
import { createHash } from "node:crypto";
import { adapterFolderOf } from "../../../src/base/domain/model.ts";
import { adapterFiles } from "../../../src/inference/architectures/hashes/adapter-hash.ts";
import type { Operation, Remains } from "../history.ts";
import { trainedMatrices } from "../trainer.ts";
import { asked } from "./asked.ts";

export function versionFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return [
    ...remains.models.flatMap((modelId) => stepFaults(modelId, remains)),
    ...remains.models.flatMap((modelId) => adapterFaults(modelId, remains)),
    ...importFaults(history, remains),
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
  const made = own.filter(({ jobId }) => jobId !== null).map(({ step, jobId }) => `${String(jobId)} ${step}`);
  const told = succeeded
    .toSorted((one, other) => Number(one.resultStep) - Number(other.resultStep))
    .map(({ id, resultStep }) => `${id} ${String(resultStep)}`);
  if (JSON.stringify(made) !== JSON.stringify(told))
    faults.push(`model ${modelId} has versions of ${made.join(", ")}, and its jobs made ${told.join(", ")}`);
  return faults;
}

/**
 * Returns the matrices that an adapter must have if every job worked correctly. For an imported version, returns the
 * matrices on disk, or null if the hash of their files differs from the stored one.
 */
export function matricesOf(modelId: string, step: number, remains: Adapters): string | null {
  if (step === 0) return "";
  const version = remains.versions.find((one) => one.modelId === modelId && one.step === step);
  if (version === undefined) return null;
  if (version.jobId === null) return storedMatrices(version, remains);
  const pins = remains.jobs.find(({ id }) => id === version.jobId)?.pins ?? null;
  const from = pins === null ? null : matricesOf(modelId, pins.startStep, remains);
  return pins === null || from === null ? null : trainedMatrices(pins.seed, from);
}

type Adapters = Pick<Remains, "jobs" | "versions" | "disk">;

/** Returns the matrices of a version on disk, or null if the hash of its files differs from the stored one. */
function storedMatrices(version: Remains["versions"][number], { disk }: Adapters): string | null {
  const folder = `/${adapterFolderOf(version.modelId, version.step)}`;
  const hash = createHash("sha256");
  for (const name of Object.values(adapterFiles)) {
    const content = disk.get(`${folder}/${name}`) ?? "";
    hash.update(`${JSON.stringify(name)} ${createHash("sha256").update(content).digest("hex")}\n`);
  }
  if (hash.digest("hex") !== version.adapterHash) return null;
  return disk.get(`${folder}/${adapterFiles.matrices}`) ?? null;
}

function adapterFaults(modelId: string, remains: Remains): readonly string[] {
  const live = remains.versions.filter(
    (version) => version.modelId === modelId && version.step > 0 && !version.isDeleted,
  );
  return live.flatMap((version) => {
    const { step } = version;
    const stored = storedMatrices(version, remains);
    const expected = matricesOf(modelId, step, remains);
    const isWhole = stored !== null && (expected === null || stored === expected);
    return isWhole ? [] : [`the adapter of version ${step} of model ${modelId} is not whole`];
  });
}

/** Each acknowledged import must have become a version. */
function importFaults(history: readonly Operation[], { models, versions }: Remains): readonly string[] {
  return asked(history, "import").flatMap(({ modelId, outcome }) => {
    if (outcome.kind !== "done" || !models.includes(modelId)) return [];
    const step = outcome.result;
    const isThere = versions.some(
      (one) => one.modelId === modelId && one.step === step && one.jobId === null,
    );
    return isThere ? [] : [`version ${step} of model ${modelId} was imported, and is not there`];
  });
}

/** Each chat that a version answered must show the matrices that the version's job trained. */
function servedFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return asked(history, "serve").flatMap(({ modelId, outcome, endedMs }) => {
    if (outcome.kind !== "done" || outcome.result === null) return [];
    const { step, matrices, isLive } = outcome.result;
    const at = `at ${Math.round(endedMs)} ms`;
    if (matrices === null)
      return isLive ? [`version ${step} of model ${modelId} could not be served ${at}`] : [];
    if (!remains.models.includes(modelId)) return [];
    const expected = matricesOf(modelId, step, remains);
    if (expected === null || matrices === expected) return [];
    return [`version ${step} of model ${modelId} was served otherwise than its job made it, ${at}`];
  });
}

/** Each acknowledged deletion must have removed the version. */
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
