// Saves a job's progress in its folder, so that another attempt continues after the last saved step. A snapshot
// contains the steps' reports and the trainer's state; values computed before the first step are saved separately. A
// snapshot is taken only if it is worth its time, and an error while writing one is ignored.
import { existsSync } from "node:fs";
import { readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { flush, makeFolder } from "../../../store/artifacts/flush.ts";
import { namesIn } from "../../../store/artifacts/folder-names.ts";
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { ownState, storedState } from "../../../base/domain/trainer/profile.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import type { Metrics } from "../job-metrics.ts";
import type { Trainer, TrainerProvider } from "../trainer.ts";

/** The content of a snapshot, except the trainer's state. */
export interface PastSteps {
  /** Metrics of each step so far, in order. */
  readonly metrics: readonly Metrics[];
  /** Warnings of the steps. */
  readonly warnings: readonly string[];
  /** Time that all attempts have spent on these steps. */
  readonly seconds: number;
}

export const noSteps: PastSteps = { metrics: [], warnings: [], seconds: 0 };

export interface Snapshot {
  readonly past: PastSteps;
  /** Name of the state to continue from, as the trainer returned it. */
  readonly state: string;
}

export interface SnapshotOptions {
  readonly trainers: Pick<TrainerProvider, "profile" | "discard">;
  readonly artifacts: Pick<ArtifactStore, "names" | "remove">;
  /** Folder used only by this job. */
  readonly workFolder: string;
  /** Key prefix of the trainer's states. */
  readonly runKey: string;
  /** Maximum share of a job's time that snapshots take. With 1, there is one after each step; with 0, there is none. */
  readonly share: number;
  /** Everything on which the steps depend. A snapshot that was written with another key is not used. */
  readonly key: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  /** Logs why a snapshot or a saved value could not be written or used. */
  readonly note: (message: string) => Promise<void>;
}

/** Content of a snapshot's file in the job's folder. A state without this file is not used. */
interface SnapshotRecord extends PastSteps {
  readonly key: SnapshotOptions["key"];
  /** State prefixed with the trainer's name. */
  readonly state: string;
}

export class JobSnapshots {
  readonly #options: SnapshotOptions;
  /** Time when the last snapshot ended. If the process is lost, the work since then is lost. */
  #sinceMs: number;
  /** Duration of the last snapshot in milliseconds. It is 0 until the first snapshot has been measured. */
  #costMs = 0;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.monotonicMs();
  }

  /**
   * Returns the newest snapshot that can be used; null if the job has to start from the beginning.
   *
   * @param needed names of values that `once` must have saved for a snapshot to be usable
   */
  async newest(needed: readonly string[]): Promise<Snapshot | null> {
    await this.#removeIncomplete();
    if (needed.some((name) => this.#keptArrays(name) === null)) return null;
    const steps = (await this.#snapshotSteps()).toSorted((one, other) => other - one);
    for (const step of steps) {
      const snapshot = await this.#read(step);
      if (snapshot !== null) return snapshot;
    }
    return null;
  }

  /** Removes all snapshots because training cannot continue from any of them. */
  async discard(reason: string): Promise<void> {
    await this.#options.note(reason);
    for (const step of await this.#snapshotSteps()) await this.#remove(step);
  }

  /** Writes a snapshot if losing the work since the last one would cost enough. Returns true if it wrote one. */
  async offer(trainer: Pick<Trainer, "saveState">, past: PastSteps, signal: AbortSignal): Promise<boolean> {
    const { share, clock, note } = this.#options;
    const beganMs = clock.monotonicMs();
    if (share === 0 || beganMs - this.#sinceMs < this.#costMs * (1 / share - 1)) return false;
    try {
      await this.#write(trainer, past, signal);
      return true;
    } catch (error) {
      if (signal.aborted || (error instanceof ServiceError && error.code === "cancelled")) throw error;
      await note(`No snapshot was made after step ${past.metrics.length}: ${String(error)}`);
      return false;
    } finally {
      this.#sinceMs = clock.monotonicMs();
      this.#costMs = this.#sinceMs - beganMs;
    }
  }

  /**
   * Returns the result of `compute`, and saves it under this name. A later attempt reads the saved result, because its
   * trainer starts from a later state and would compute another one.
   */
  async once(
    name: string,
    compute: () => Promise<readonly Float32Array[]>,
  ): Promise<readonly Float32Array[]> {
    const kept = this.#keptArrays(name);
    if (kept !== null) return kept;
    const arrays = await compute();
    const file = this.#arraysFile(name);
    try {
      await makeFolder(dirname(file));
      writeArrays(file, arrays, this.#keyText);
      await flush(dirname(file));
    } catch (error) {
      await this.#options.note(`${name} could not be stored: ${String(error)}`);
    }
    return arrays;
  }

  async #write(trainer: Pick<Trainer, "saveState">, past: PastSteps, signal: AbortSignal): Promise<void> {
    const { trainers, workFolder, runKey, key } = this.#options;
    const step = past.metrics.length;
    await makeFolder(workFolder);
    const state = await trainer.saveState(`${runKey}/step-${step}`, {
      id: `snapshot ${step}`,
      signal,
    });
    const record: SnapshotRecord = { ...past, key, state: storedState(trainers.profile.name, state) };
    const file = this.#recordFile(step);
    const unfinished = `${file}.tmp`;
    await writeFile(unfinished, JSON.stringify(record));
    await flush(unfinished);
    await rename(unfinished, file);
    await flush(workFolder);
    for (const earlier of await this.#snapshotSteps()) if (earlier !== step) await this.#remove(earlier);
  }

  /** Reads a snapshot. If it is unreadable or belongs to other steps, removes it and returns null. */
  async #read(step: number): Promise<Snapshot | null> {
    const { trainers, key, note } = this.#options;
    try {
      const record = await readRecord(this.#recordFile(step));
      const state = ownState(trainers.profile, record.state);
      if (state !== null && isDeepStrictEqual(record.key, key) && record.metrics.length === step) {
        const { metrics, warnings, seconds } = record;
        return { past: { metrics, warnings, seconds }, state };
      }
      await note(`The snapshot after step ${step} belongs to other steps and is not used.`);
    } catch (error) {
      await note(`The snapshot after step ${step} cannot be read: ${String(error)}`);
    }
    await this.#remove(step);
    return null;
  }

  /** The file is removed before the state, because a state without its file is not used. */
  async #remove(step: number): Promise<void> {
    const { trainers } = this.#options;
    const file = this.#recordFile(step);
    const state = await readRecord(file).then(
      (record) => ownState(trainers.profile, record.state),
      () => null,
    );
    await rm(file, { force: true });
    if (state !== null) await trainers.discard(state);
  }

  async #snapshotSteps(): Promise<readonly number[]> {
    const names = await namesIn(this.#options.workFolder);
    return names.flatMap((name) => /^step-(\d+)\.json$/.exec(name)?.slice(1).map(Number) ?? []);
  }

  #recordFile(step: number): string {
    return join(this.#options.workFolder, `step-${step}.json`);
  }

  /** Returns null if no values are saved under this name, or if they belong to other steps. */
  #keptArrays(name: string): readonly Float32Array[] | null {
    const file = this.#arraysFile(name);
    return existsSync(file) ? readArrays(file, this.#keyText) : null;
  }

  #arraysFile(name: string): string {
    return join(this.#options.workFolder, `${name}.safetensors`);
  }

  get #keyText(): string {
    return JSON.stringify(this.#options.key);
  }

  /**
   * Removes incomplete files, and states that belong to no complete snapshot because the process died before it was
   * written.
   */
  async #removeIncomplete(): Promise<void> {
    const { artifacts, workFolder, runKey } = this.#options;
    const files = await namesIn(workFolder);
    for (const name of files)
      if (name.endsWith(".json.tmp")) await rm(join(workFolder, name), { recursive: true, force: true });
    for (const name of await artifacts.names(runKey))
      if (/^step-\d+$/.test(name) && !files.includes(`${name}.json`))
        await artifacts.remove(`${runKey}/${name}`);
  }
}

async function readRecord(file: string): Promise<SnapshotRecord> {
  return JSON.parse(await readFile(file, "utf8")) as SnapshotRecord; // Safe cast: `#write` wrote it.
}

/** Returns the stored states of all snapshots in a job's folder, including those of runs that it repeats. */
export async function snapshotStates(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const marks = names.filter((name) => /^step-\d+\.json$/.test(basename(name)));
  const states: string[] = [];
  for (const name of marks)
    await readRecord(join(folder, name)).then(
      ({ state }) => states.push(state),
      () => undefined,
    );
  return states;
}

function writeArrays(file: string, arrays: readonly Float32Array[], key: string): void {
  const tensors = arrays.map((data, index) => ({ name: String(index), shape: [data.length], data }));
  writeSafetensors(file, tensors, { type: "F32", metadata: { format: "pt", key } });
}

function readArrays(file: string, key: string): readonly Float32Array[] | null {
  const { tensors, metadata } = readSafetensorsHeader(file);
  if (metadata["key"] !== key) return null;
  return Array.from({ length: tensors.size }, (_, index) =>
    readFloats(present(tensors.get(String(index)), `array ${index} of ${basename(file)}`)),
  );
}
