// Runs training jobs in child processes. A process stays loaded for further jobs of the same base model. If it dies or
// makes no progress, the attempt is lost, and jobs/ decides how the job continues.
import { existsSync } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { PlacedArtifacts } from "../../store/artifacts/artifact-place.ts";
import { jobKey, type ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type {
  JobAssignment,
  JobOutcome,
  JobReport,
  JobRun,
  JobRunner,
  JobTask,
  RunnerPins,
} from "../../base/domain/job.ts";
import { unfolded } from "../../base/domain/text/folded-lines.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import {
  missingBaseError,
  missingFilesError,
  waitsForWeights,
} from "../../base/domain/transient-errors/missing-base.ts";
import type { BaseHashes, ModelVersion, TrainedModel } from "../../base/domain/model.ts";
import { ServiceError, notFound } from "../../base/domain/service-error.ts";
import { ownState, type TrainerProfile } from "../../base/domain/trainer/profile.ts";
import { hasWeights } from "../../lib/model-files/weight-files.ts";
import { baseHashes } from "../../inference/architectures/hashes/base-hashes.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { TrainingLoad } from "./child-protocol.ts";
import { discardState, embeddedProfile } from "./embedded/profile.ts";
import { type TrainingSettings, pinnedSettings, settingsOfJob, trainerAlgorithm } from "./settings.ts";
import { snapshotStates } from "./steps/job-snapshots.ts";
import { discardRemoteState } from "./tinker/states.ts";
import { tinkerProfile } from "./tinker/profile.ts";
import type { TrainerElsewhere } from "./tinker/trainer-address.ts";
import { requireSupportedAdapter } from "./tinker/supported-adapter.ts";
import { TrainingProcess } from "./training-process.ts";
import {
  linesFileOf,
  placesOf,
  resultFolderOf,
  type RunPlaces,
  type TrainingRun,
  trainingRunOf,
} from "./training-run.ts";

export interface ChildJobRunnerOptions {
  readonly artifacts: PlacedArtifacts;
  readonly folder: ServerFolder;
  /** Folder of each base model, by the model's name. */
  readonly baseFolders: ReadonlyMap<string, string>;
  /**
   * Names of base models whose weights are not on this machine, because vLLM or a remote trainer computes with them. A
   * local training process cannot run jobs for these models.
   */
  readonly weightless?: ReadonlySet<string>;
  /** Names of base models for which serving writes tool definitions as text into the system message. */
  readonly toolsAsText?: ReadonlySet<string>;
  /** Serving precision by base model; models that are served in float32 have no entry. */
  readonly precisions?: ReadonlyMap<string, string>;
  /**
   * Reads a job's training data: JSON, one line per group or conversation, with long lines folded into several parts.
   * Returns null if the job no longer exists.
   */
  readonly trajectoryLines: (jobId: string) => Promise<AsyncIterable<string> | null>;
  readonly settings: TrainingSettings;
  /** The remote trainer to use; null or absent to train on this machine. */
  readonly elsewhere?: TrainerElsewhere | null;
  /** Hone's version, which is one of a job's pins: inputs that must not change between attempts. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Module that the processes run; `child-main` if absent. */
  readonly module?: URL;
}

/**
 * Runner of jobs in child processes. `stop` cancels the running attempts and ends all processes. Calling `start` is
 * unnecessary.
 */
export interface ChildJobRunner extends JobRunner, Service {
  /** Process ids of all child processes, both training and idle, for monitoring. */
  processIds(): readonly number[];
}

/** Creates a runner that starts child processes on demand; a process serves one base model. */
export function createChildJobRunner(options: ChildJobRunnerOptions): ChildJobRunner {
  return new ProcessJobRunner(options);
}

class ProcessJobRunner implements ChildJobRunner {
  readonly trainer: TrainerProfile;
  readonly #options: ChildJobRunnerOptions;
  /** Idle processes by base model, at most one per model. */
  readonly #idle = new Map<string, TrainingProcess>();
  readonly #busy = new Set<TrainingProcess>();
  readonly #runs = new Set<Promise<JobOutcome>>();
  readonly #stopping = new AbortController();
  readonly #life = serviceOf("training runner", { stop: () => this.#stop() });

  constructor(options: ChildJobRunnerOptions) {
    this.#options = options;
    const { elsewhere = null } = options;
    this.trainer = elsewhere === null ? embeddedProfile : tinkerProfile(elsewhere.address);
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  requireTrainable(baseModel: string): void {
    if (this.trainer.name !== embeddedProfile.name || this.#options.weightless?.has(baseModel) !== true)
      return;
    throw new ServiceError({
      code: "unsupported",
      message:
        `Jobs over the base model ${JSON.stringify(baseModel)} need its weights, which this server does not have, since vLLM serves it. ` +
        "Put them into the folder of its files and restart the server.",
    });
  }

  async pinsFor(
    { baseModel, adapter }: TrainedModel,
    from: ModelVersion,
    { config }: JobTask,
  ): Promise<RunnerPins> {
    return withDiskFullTransient(async () => {
      const { files, weights } = await this.#hashesOf(baseModel);
      requireWeights(from, weights);
      const { settings, precisions, elsewhere = null } = this.#options;
      if (elsewhere !== null) requireSupportedAdapter(elsewhere.address, adapter, settings.loraRank);
      const servedPrecision = precisions?.get(baseModel);
      const usual = this.trainer.basePrecisions.includes(settings.basePrecision)
        ? settings.basePrecision
        : "float32";
      const basePrecision = config.basePrecision ?? usual;
      return {
        settings: {
          ...pinnedSettings(
            { ...settings, basePrecision, ...(servedPrecision && { servedPrecision }) },
            adapter,
          ),
          ...(this.#options.toolsAsText?.has(baseModel) === true ? { toolsAsText: true } : {}),
        },
        baseHash: files,
        trainerBuild: this.#build,
      };
    });
  }

  async run(
    assignment: JobAssignment,
    report: JobReport,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<JobOutcome> {
    const eitherSignal = AbortSignal.any([signal, this.#stopping.signal]);
    const run = withDiskFullTransient(() => this.#run(assignment, report, eitherSignal));
    this.#runs.add(run);
    try {
      return await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  async keep(assignment: JobAssignment): Promise<void> {
    await this.#options.artifacts.release(resultFolderOf(assignment));
  }

  async discard(assignment: JobAssignment): Promise<void> {
    await this.#options.artifacts.remove(resultFolderOf(assignment));
    await this.keep(assignment);
  }

  async discardWork(jobId: string): Promise<void> {
    const { artifacts, folder } = this.#options;
    for (const state of await snapshotStates(folder.jobFolder(jobId))) await this.discardState(state);
    await artifacts.remove(jobKey(jobId));
    await folder.removeJob(jobId);
  }

  async discardState(stored: string): Promise<void> {
    const { artifacts, elsewhere = null, clock } = this.#options;
    const state = ownState(this.trainer, stored);
    if (state !== null && elsewhere !== null)
      return await discardRemoteState(elsewhere, state, clock).catch((error: unknown) => {
        this.#options.logger.warn(
          { err: error, state },
          "an unneeded state could not be removed from the trainer",
        );
      });
    if (state !== null) return await discardState(artifacts, state);
    this.#options.logger.warn({ state: stored }, "an unneeded state of another trainer stays there");
  }

  processIds(): readonly number[] {
    return [...this.#busy, ...this.#idle.values()].flatMap(({ id }) => id ?? []);
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#runs);
    await Promise.all([...this.#idle.values()].map((training) => training.end()));
  }

  async #run(assignment: JobAssignment, report: JobReport, signal: AbortSignal): Promise<JobOutcome> {
    const { artifacts, folder, logger } = this.#options;
    const { model } = assignment;
    const load = await this.#loadFor(assignment);
    const runs = [...(assignment.replay?.earlier ?? []), assignment].map((run) => ({
      run,
      places: placesOf(assignment, run, folder),
    }));
    const { adapterFolder, runKey } = runs[runs.length - 1].places;
    // Records that this server holds the result, so that a sweep can remove it if the server dies before the version is
    // in the database. A replay needs no record, because its result is removed with the work folder of its job.
    if (assignment.replay === null) await artifacts.hold(adapterFolder);
    try {
      const filled: TrainingRun[] = [];
      for (const { run, places } of runs) filled.push(await this.#fill(run, places, assignment));
      const training = await this.#takeProcess(load, { signal });
      this.#busy.add(training);
      const comparedWith = assignment.replay?.version.adapterFolder ?? null;
      const outcome = await training
        .run({ kind: "run", runs: filled, comparedWith }, report, { signal })
        .finally(() => this.#busy.delete(training));
      this.#keepProcess(model.baseModel, training);
      return outcome;
    } catch (error) {
      // The training process has ended, so nothing writes to these files any more.
      await artifacts.removeUnfinished(adapterFolder);
      await artifacts.removeUnfinished(runKey);
      throw error;
    } finally {
      for (const { places } of runs) {
        const linesFile = linesFileOf(places);
        await rm(linesFile, { force: true }).catch((error: unknown) =>
          logger.warn(
            { err: error, jobId: assignment.job.id, linesFile },
            "a job's training data could not be removed from its folder",
          ),
        );
      }
    }
  }

  get #build(): string {
    return `hone-${this.#options.version}, algorithm ${trainerAlgorithm}`;
  }

  #folderOf(baseModel: string): string {
    const folder = this.#options.baseFolders.get(baseModel);
    if (folder !== undefined) return resolve(folder);
    throw missingBaseError(baseModel);
  }

  async #hashesOf(baseModel: string): Promise<BaseHashes> {
    const folder = this.#folderOf(baseModel);
    const isGone =
      !existsSync(join(folder, "config.json")) ||
      (this.trainer.name === embeddedProfile.name && !hasWeights(folder));
    if (isGone) throw missingFilesError(baseModel);
    return baseHashes(folder, this.#options.folder.cacheOf(folder));
  }

  /**
   * Returns the model and settings that a process must load for the job. Refuses a base model whose files have changed
   * since the job began.
   */
  async #loadFor({ job, model, pins, from }: JobAssignment): Promise<TrainingLoad> {
    const { settings, artifacts, logger } = this.#options;
    const folder = this.#folderOf(model.baseModel);
    const { files: hash, weights } = await this.#hashesOf(model.baseModel);
    requireWeights(from, weights);
    if (hash !== pins.baseHash) {
      throw new ServiceError({
        code: "conflict",
        message:
          `The base model ${JSON.stringify(model.baseModel)} has changed since this job began: its files hash to ` +
          `${hash}, at that time to ${pins.baseHash}. Serve the earlier files again, or submit a new job.`,
      });
    }
    if (pins.trainerBuild !== this.#build)
      logger.warn(
        { jobId: job.id, began: pins.trainerBuild, now: this.#build },
        "a job continues in another build",
      );
    const toolsAsText = pins.settings["toolsAsText"] === true;
    const cacheFolder = this.#options.folder.cacheOf(folder);
    const baseModel = { name: model.baseModel, folder, weights, toolsAsText };
    return {
      elsewhere: this.#options.elsewhere ?? null,
      baseModel,
      settings: settingsOfJob(settings, pins.settings),
      artifacts: artifacts.place,
      cacheFolder,
    };
  }

  /** Writes the training data of one run to a file, one line per group or conversation. */
  async #fill(run: JobRun, places: RunPlaces, assignment: JobAssignment): Promise<TrainingRun> {
    const { job } = run;
    const id = job.replayOf ?? job.id;
    const lines = await this.#options.trajectoryLines(id);
    if (lines === null) throw notFound("training job", id);
    await mkdir(places.workFolder, { recursive: true });
    const lineCount = await writeLines(linesFileOf(places), lines);
    const reportedStepCount = run === assignment ? (job.progress?.gradientStepCount ?? 0) : 0;
    return trainingRunOf(run, places, { lineCount, reportedStepCount });
  }

  /**
   * Returns a process that has loaded exactly `load`. Reuses the base model's idle process if it fits, and otherwise
   * starts a process.
   */
  async #takeProcess(
    load: TrainingLoad,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<TrainingProcess> {
    const { name } = load.baseModel;
    const idle = this.#idle.get(name);
    this.#idle.delete(name);
    if (idle?.isAvailable === true) {
      if (isDeepStrictEqual(idle.loaded, load)) return idle;
      await idle.end();
    }
    const training = new TrainingProcess(this.#options.clock, this.#options.module);
    await training.start(load, { signal });
    return training;
  }

  #keepProcess(baseModel: string, training: TrainingProcess): void {
    const { idleMs } = this.#options.settings;
    const idle = this.#idle.get(baseModel);
    if (idleMs === 0 || idle?.isAvailable === true) {
      void training.end();
      return;
    }
    this.#idle.set(baseModel, training);
    training.endAfter(idleMs);
  }
}

/** Refuses to continue training a version if it was trained with other weights of the base model. */
function requireWeights(from: ModelVersion, weights: string): void {
  if (from.base !== null && from.base !== weights) throw waitsForWeights(from, weights);
}

/**
 * Runs work that writes files. If the disk is full, rejects with a transient error, so that the job is retried later.
 */
async function withDiskFullTransient<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

/** Number of characters per write to the file. Writing each line separately would take longer than reading it. */
const writtenLength = 1 << 20;

/** Writes each of `parts` as a line, and returns the number of lines. */
async function writeLines(file: string, parts: AsyncIterable<string>): Promise<number> {
  const handle = await open(file, "w");
  let count = 0;
  let waiting = "";
  try {
    for await (const part of parts) {
      const text = unfolded(part);
      if (text.endsWith("\n")) count += 1;
      waiting += text;
      if (waiting.length < writtenLength) continue;
      // Uses `appendFile`, because `write` may write only a part of the text.
      await handle.appendFile(waiting);
      waiting = "";
    }
    await handle.appendFile(waiting);
  } finally {
    await handle.close();
  }
  return count;
}
