// Replaces training processes in a simulated world. Its steps only take time, and its adapter is a function of the
// job's pins, so that the checker can compute it. It publishes versions like a real training process, and leaves and
// removes the same files as `train/trainer/child-runner`.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../src/store/artifacts/artifact-store.ts";
import { jobKey, type ServerFolder } from "../../src/store/artifacts/server-folder.ts";
import type {
  JobAssignment,
  JobCounts,
  JobOutcome,
  JobReport,
  JobRunner,
} from "../../src/base/domain/job.ts";
import { fullDiskError } from "../../src/base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../src/base/domain/service-error.ts";
import { ownState, storedState } from "../../src/base/domain/trainer/profile.ts";
import { adapterFiles } from "../../src/inference/architectures/hashes/adapter-hash.ts";
import { discardState, embeddedProfile, stateFileName } from "../../src/train/trainer/embedded/profile.ts";
import { publishVersion } from "../../src/train/trainer/folders/publish.ts";
import { resultFolderOf } from "../../src/train/trainer/training-run.ts";
import type { SimulatedProcess } from "./world/process.ts";
import type { Scheduler } from "./world/scheduler.ts";

export interface TrainerPlace {
  readonly artifacts: ArtifactStore;
  /** Opens the artifact store in the same way as a training process. */
  readonly openArtifacts: (mayPut: () => Promise<void>) => ArtifactStore;
  readonly folder: ServerFolder;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  /** Returns the error code with which a training process fails, or usually null: it does not fail. */
  readonly failure: () => "unavailable" | "unsupported" | "internal" | null;
}

/** Hash of the base weights for all jobs. */
export const baseWeights = "weights";
/** Configuration of every adapter. */
export const adapterConfig = JSON.stringify({ rank: 8 });
/** Duration of a training step in milliseconds. */
const stepMs = 700;

const counts: JobCounts = {
  groupsSubmitted: 1,
  groupsTrainable: 1,
  trajectories: 2,
  sequences: 2,
  trainableTokens: 10,
  skipped: {},
  skippedGroups: {},
};

/**
 * Returns the matrices that a job with this seed trains. `from` contains the matrices that the job starts from, and is
 * empty for the base model.
 */
export function trainedMatrices(seed: string, from: string): string {
  return createHash("sha256")
    .update(JSON.stringify([seed, from]))
    .digest("hex");
}

/** Returns the number of steps of a job with this seed. */
export function stepCountOf(seed: string): number {
  return Number.parseInt(seed.slice(0, 2), 16) % 4;
}

export function createSimulatedRunner(place: TrainerPlace): JobRunner {
  const { artifacts, folder } = place;
  return {
    trainer: embeddedProfile,
    pinsFor: async () => ({ settings: {}, baseHash: "base", trainerBuild: "simulated" }),
    run: async (assignment, report, { signal }) => {
      try {
        await artifacts.hold(resultFolderOf(assignment));
        return await run(place, assignment, report, signal);
      } catch (error) {
        await artifacts.removeUnfinished(resultFolderOf(assignment));
        await artifacts.removeUnfinished(jobKey(assignment.job.id));
        throw fullDiskError(error) ?? error;
      }
    },
    keep: (assignment) => artifacts.release(resultFolderOf(assignment)),
    discard: async (assignment) => {
      await artifacts.remove(resultFolderOf(assignment));
      await artifacts.release(resultFolderOf(assignment));
    },
    discardWork: async (jobId) => {
      await artifacts.remove(jobKey(jobId));
      await folder.removeJob(jobId);
    },
    discardState: async (stored) => {
      const state = ownState(embeddedProfile, stored);
      if (state !== null) await discardState(artifacts, state);
    },
  };
}

async function run(
  place: TrainerPlace,
  assignment: JobAssignment,
  report: JobReport,
  signal: AbortSignal,
): Promise<JobOutcome> {
  const { folder, process, scheduler } = place;
  const artifacts = place.openArtifacts(() => report({ kind: "asks-for-job" }));
  const { job, pins, from } = assignment;
  await mkdir(folder.jobFolder(job.id), { recursive: true });
  await writeFile(join(folder.jobFolder(job.id), "lines.jsonl"), "what it trains on\n");
  const start =
    from.adapterFolder === null
      ? ""
      : await readFile(join(await artifacts.path(from.adapterFolder, null), adapterFiles.matrices), "utf8");
  const stepCount = stepCountOf(pins.seed);
  await report({ kind: "started", stepCount, counts, metrics: { num_sequences: stepCount } });
  for (let step = 0; step < stepCount; step++) {
    await process.clock.sleep(stepMs * (0.5 + scheduler.random.uniform()), { signal });
    const failure = place.failure();
    if (failure === "internal") throw new Error("simulated");
    if (failure !== null) throw new ServiceError({ code: failure, message: "The training process died." });
    await report({ kind: "stepped", index: step, metrics: { loss: step } });
    await report({ kind: "saved", stepCount: step + 1 });
  }
  await report({ kind: "entered", phase: "publishing" });
  signal.throwIfAborted();
  const adapterFolder = resultFolderOf(assignment);
  const matrices = trainedMatrices(pins.seed, start);
  const { adapterHash, state } = await publishVersion(
    {
      exportAdapter: async (target) => {
        await writeFile(join(target, adapterFiles.config), adapterConfig);
        await writeFile(join(target, adapterFiles.matrices), matrices);
      },
      saveState: async (name) => {
        const key = `${name}/${stateFileName}`;
        await artifacts.putFile(key, (file) => writeFile(file, `moments of ${matrices}`));
        return key;
      },
    },
    { artifacts, adapterFolder },
    { signal },
  );
  return {
    adapterFolder,
    trainerState: storedState(embeddedProfile.name, state),
    base: baseWeights,
    adapterHash,
    counts,
    metrics: { step: pins.resultStep },
  };
}
