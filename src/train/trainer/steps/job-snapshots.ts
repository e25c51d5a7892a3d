// What a job keeps of its way, in a folder of its own, so that another attempt goes on behind the last step that is kept:
// what the steps reported and which state the trainer saved behind them, and what was computed before the first of them.
// Decides when a snapshot is worth its time; a snapshot that cannot be written is left out, since it only saves work.
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

/** What a snapshot holds beside the trainer's state. */
export interface PastSteps {
  /** Of every step so far, in their order. */
  readonly metrics: readonly Metrics[];
  /** What the steps warned of. */
  readonly warnings: readonly string[];
  /** What all attempts have spent on these steps. */
  readonly seconds: number;
}

export const noSteps: PastSteps = { metrics: [], warnings: [], seconds: 0 };

export interface Snapshot {
  readonly past: PastSteps;
  /** The trainer's own word for where it goes on from. */
  readonly state: string;
}

export interface SnapshotOptions {
  readonly trainers: Pick<TrainerProvider, "profile" | "discard">;
  readonly artifacts: Pick<ArtifactStore, "names" | "remove">;
  /** Of the job alone. */
  readonly workFolder: string;
  /** What the trainer's states lie below. */
  readonly runKey: string;
  /** Which part of a job's time its snapshots may take: at 1 there is one after every step, at 0 there is none. */
  readonly share: number;
  /** What the steps are made of: a snapshot of other steps is none. */
  readonly key: Readonly<Record<string, string | number>>;
  readonly clock: Clock;
  /** Told what could not be written or read, for the log. */
  readonly note: (message: string) => Promise<void>;
}

/** What lies in a job's folder of each snapshot; without it a state is none. */
interface Mark extends PastSteps {
  readonly key: SnapshotOptions["key"];
  /** With the trainer's name. */
  readonly state: string;
}

export class JobSnapshots {
  readonly #options: SnapshotOptions;
  /** When the last snapshot was over; the work since then is what would be lost. */
  #sinceMs: number;
  /** What the last one took; 0 before the first, which shows it. */
  #costMs = 0;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.monotonicMs();
  }

  /**
   * The newest snapshot of these steps; null where the job has to begin anew.
   *
   * @param needed what `once` has to have kept for it to be of use
   */
  async newest(needed: readonly string[]): Promise<Snapshot | null> {
    await this.#removeUnmarked();
    if (needed.some((name) => this.#keptArrays(name) === null)) return null;
    const steps = (await this.#snapshotSteps()).toSorted((one, other) => other - one);
    for (const step of steps) {
      const snapshot = await this.#read(step);
      if (snapshot !== null) return snapshot;
    }
    return null;
  }

  /** Removes every snapshot, none of which can be gone on from. */
  async discard(reason: string): Promise<void> {
    await this.#options.note(reason);
    for (const step of await this.#snapshotSteps()) await this.#remove(step);
  }

  /** Writes a snapshot where enough work would be lost without; true when there is a new one. */
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

  /** What `compute` gives, kept under this name: another attempt reads it, since by then the trainer is further. */
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
      await this.#options.note(`${name} could not be kept: ${String(error)}`);
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
    const mark: Mark = { ...past, key, state: storedState(trainers.profile.name, state) };
    const file = this.#markFile(step);
    const unfinished = `${file}.tmp`;
    await writeFile(unfinished, JSON.stringify(mark));
    await flush(unfinished);
    await rename(unfinished, file);
    await flush(workFolder);
    for (const earlier of await this.#snapshotSteps()) if (earlier !== step) await this.#remove(earlier);
  }

  /** Null, and removed, where it is of other steps or cannot be read. */
  async #read(step: number): Promise<Snapshot | null> {
    const { trainers, key, note } = this.#options;
    try {
      const mark = await readMark(this.#markFile(step));
      const state = ownState(trainers.profile, mark.state);
      if (state !== null && isDeepStrictEqual(mark.key, key) && mark.metrics.length === step) {
        const { metrics, warnings, seconds } = mark;
        return { past: { metrics, warnings, seconds }, state };
      }
      await note(`The snapshot after step ${step} is of other steps; it is not used.`);
    } catch (error) {
      await note(`The snapshot after step ${step} cannot be read: ${String(error)}`);
    }
    await this.#remove(step);
    return null;
  }

  /** The mark first: a state without one is not gone on from. */
  async #remove(step: number): Promise<void> {
    const { trainers } = this.#options;
    const file = this.#markFile(step);
    const state = await readMark(file).then(
      (mark) => ownState(trainers.profile, mark.state),
      () => null,
    );
    await rm(file, { force: true });
    if (state !== null) await trainers.discard(state);
  }

  async #snapshotSteps(): Promise<readonly number[]> {
    const names = await namesIn(this.#options.workFolder);
    return names.flatMap((name) => /^step-(\d+)\.json$/.exec(name)?.slice(1).map(Number) ?? []);
  }

  #markFile(step: number): string {
    return join(this.#options.workFolder, `step-${step}.json`);
  }

  /** Null where there are none, or none of these steps. */
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

  /** States that a process which died had saved or was saving, and half a mark. */
  async #removeUnmarked(): Promise<void> {
    const { artifacts, workFolder, runKey } = this.#options;
    const files = await namesIn(workFolder);
    for (const name of files)
      if (name.endsWith(".json.tmp")) await rm(join(workFolder, name), { recursive: true, force: true });
    for (const name of await artifacts.names(runKey))
      if (/^step-\d+$/.test(name) && !files.includes(`${name}.json`))
        await artifacts.remove(`${runKey}/${name}`);
  }
}

async function readMark(file: string): Promise<Mark> {
  return JSON.parse(await readFile(file, "utf8")) as Mark; // What `#write` wrote.
}

/** The states of all snapshots in a job's folder, those of runs that it repeats included, as they are stored. */
export async function snapshotStates(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const marks = names.filter((name) => /^step-\d+\.json$/.test(basename(name)));
  const states: string[] = [];
  for (const name of marks)
    await readMark(join(folder, name)).then(
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
