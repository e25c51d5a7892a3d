// A server's own folder, locked for one server at a time: caches, work that attempts at jobs keep for each other, and
// scratch files in `work/<server>`. The artifacts may be in the same folder or in another.
import { mkdir, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { ArtifactWriter } from "./artifact-store.ts";
import { newUuid } from "../../base/domain/random.ts";
import { namesIn } from "./folder-names.ts";

/** Name in a root: contains a folder for each server. */
export const workFolder = "work";

/** Returns the folder of a server's unfinished writes, which are useless to others and expire with its lease. */
export function workOf({ root, server }: Pick<ArtifactWriter, "server"> & { readonly root: string }): string {
  return join(root, workFolder, server());
}

interface ServerFolderOptions extends Pick<ArtifactWriter, "server"> {
  readonly root: string;
}

/** Name in a root: contains a folder for each added model. */
export const modelsFolder = "models";
/** Name in a root: the snapshot of a backup in progress. */
export const backupFolder = "backup";
/** Name in a root: data computed from models, and cached files of a bucket. */
export const cacheFolder = "cache";
/** Name in a model's folder: data computed from the model. */
const ownCache = ".cache";

/** Folders that servers create; earlier versions also created `imports`. */
export const folderNames: readonly string[] = [
  "adapters",
  "files",
  "jobs",
  cacheFolder,
  workFolder,
  "imports",
  backupFolder,
  modelsFolder,
];

export class ServerFolder {
  readonly #options: ServerFolderOptions;

  constructor(options: ServerFolderOptions) {
    this.#options = options;
  }

  /**
   * Returns the cache folder for data computed from a model, which is recomputed if missing. For an added model it is
   * in the model's own folder, and so is deleted with it.
   *
   * @param model path in or of the model
   */
  cacheOf(model: string): string {
    const { root } = this.#options;
    const [first, name] = relative(root, model).split(sep);
    if (first === modelsFolder && name !== undefined) return join(root, modelsFolder, name, ownCache);
    return join(root, cacheFolder);
  }

  /** Folder in which attempts at a job keep their progress; they create it. */
  jobFolder(jobId: string): string {
    return join(this.#options.root, jobKey(jobId));
  }

  /** Returns the jobs that have such a folder. */
  jobIds(): Promise<readonly string[]> {
    return namesIn(join(this.#options.root, "jobs"));
  }

  async removeJob(jobId: string): Promise<void> {
    await rm(this.jobFolder(jobId), { recursive: true, force: true });
  }

  /**
   * Removes the scratch files of earlier servers. If artifacts share the folder, call {@link
   * ArtifactStore.sweepAbandoned} first, since this would remove their unfinished writes too.
   */
  async sweep(isLive: (server: string) => Promise<boolean>): Promise<readonly string[]> {
    const { root } = this.#options;
    const left: string[] = [];
    for (const server of await namesIn(join(root, workFolder)))
      if (!(await isLive(server))) left.push(`${workFolder}/${server}`);
    const added = (await namesIn(join(root, modelsFolder))).map((name) => join(modelsFolder, name, ownCache));
    for (const cache of [cacheFolder, join(cacheFolder, "blobs"), ...added])
      for (const name of await namesIn(join(root, cache)))
        if (name.endsWith(".partial")) left.push(join(cache, name));
    for (const name of left) await rm(join(root, name), { recursive: true, force: true });
    return left;
  }

  /** Calls `work` with an empty folder, which is removed afterwards. */
  async withScratch<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(workOf(this.#options), newUuid());
    await mkdir(folder, { recursive: true });
    try {
      return await work(folder);
    } finally {
      // Interrupted work may continue to write for a moment.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
  }
}

/** Returns the key of the data that trainers keep for attempts at a job. */
export function jobKey(jobId: string): string {
  return `jobs/${jobId}`;
}
