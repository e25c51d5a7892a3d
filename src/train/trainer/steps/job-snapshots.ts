// Saves a job's progress in its folder, so that another attempt continues after the last saved step. A snapshot
// contains the steps' reports and the trainer's state. Snapshots are taken so rarely that they use only a small share
// of the job's time, and errors while writing one are ignored.
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

/** The content of a snapshot, without the trainer's state. */
export interface PastSteps {
  /** Metrics of each step so far, in order. */
  readonly metrics: readonly Metrics[];
  /** Warnings that the steps so far have given. */
  readonly warnings: readonly string[];
  /** Time in seconds that all attempts together have spent on these steps. */
  readonly seconds: number;
}

export const noSteps: PastSteps = { metrics: [], warnings: [], seconds: 0 };

export interface Snapshot {
  readonly past: PastSteps;
  /** Key of the trainer state from which to continue, as the trainer returned it. */
  readonly state: string;
}

export interface SnapshotOptions {
  readonly trainers: Pick<TrainerProvider, "profile" | "discard">;
  readonly artifacts: Pick<ArtifactStore, "names" | "remove">;
  /** Folder that only this job uses. */
  readonly workFolder: string;
  /** Prefix of the artifact keys of the trainer's states. */
  readonly runKey: string;
  /**
   * Maximum share of the job's time that taking snapshots may use. With 1, there is a snapshot after each step; with 0,
   * there is none.
   */
  readonly share: number;
  /** Everything on which the steps depend. Snapshots that were written with another key are not used. */
  readonly key: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  /** Logs the reason why a snapshot or a saved value cannot be written or used. */
  readonly note: (message: string) => Promise<void>;
}

/** Content of a snapshot's file in the job's folder. A trainer state without such a file is not used. */
interface SnapshotRecord extends PastSteps {
  readonly key: SnapshotOptions["key"];
  /** Key of the trainer state, prefixed with the trainer's name. */
  readonly state: string;
}

export class JobSnapshots {
  readonly #options: SnapshotOptions;
  /** Time when the last snapshot was complete. If the process dies, all work after that is lost. */
  #sinceMs: number;
  /** Duration of the last snapshot in milliseconds; 0 before the first one. */
  #costMs = 0;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.monotonicMs();
  }

  /**
   * Returns the newest snapshot from which the job can continue; null if the job must start from the beginning.
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

  /** Removes all snapshots, because training cannot continue from any of them, and logs the reason. */
  async discard(reason: string): Promise<void> {
    await this.#options.note(reason);
    for (const step of await this.#snapshotSteps()) await this.#remove(step);
  }

  /**
   * Takes a snapshot if the time since the last one is long in proportion to the time that the last one took. Returns
   * true if it took a snapshot.
   */
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
   * Returns the result of `compute`, and saves it under a name. A later attempt reads the saved result instead of
   * computing, because its trainer starts from a later state, which would give another result.
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

  /**
   * Reads the snapshot after a step. If it is unreadable or belongs to a different job configuration, removes it and
   * returns null.
   */
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

  /**
   * Removes the snapshot's file before the trainer state. If the process dies in between, the state remains, but is not
   * used without its file.
   */
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

  /**
   * Reads saved values. Returns null if there are none under this name, or if they belong to a different job
   * configuration.
   */
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

  /** Removes the files and trainer states of snapshots that were not complete when a process died. */
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

/**
 * Returns the keys of the trainer states of all snapshots in a job's folder, including those of earlier jobs that the
 * job repeats.
 */
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
