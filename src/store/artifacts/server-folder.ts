// A server's own folder, which only one server at a time can lock. It contains caches, the progress that attempts at a
// job save for later attempts, and scratch files in `work/<server>`. Artifacts may be in the same folder or elsewhere.
import { mkdir, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { ArtifactWriter } from "./artifact-store.ts";
import { newUuid } from "../../base/domain/random.ts";
import { namesIn } from "./folder-names.ts";

/** Name of the folder that contains a work folder for each server. */
export const workFolder = "work";

/**
 * Returns the folder of a server's unfinished writes. Other servers cannot use them, and remove them after the server's
 * lease has ended.
 */
export function workOf({ root, server }: Pick<ArtifactWriter, "server"> & { readonly root: string }): string {
  return join(root, workFolder, server());
}

interface ServerFolderOptions extends Pick<ArtifactWriter, "server"> {
  readonly root: string;
}

/** Name of the folder that contains a folder for each added model. */
export const modelsFolder = "models";
/** Name of the folder that contains the snapshot of a backup in progress. */
export const backupFolder = "backup";
/** Name of the folder that contains data computed from models, and cached files of a bucket. */
export const cacheFolder = "cache";
/** Name of the folder, within a model's folder, that contains data computed from the model. */
const ownCache = ".cache";

/** Names of the folders that servers create. `imports` is included because earlier versions created it. */
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
   * Returns the folder for data that is computed from a model, and computed again if it is missing. For an added model,
   * this folder is within the model's own folder, so that it is deleted with the model.
   *
   * @param model path of the model, or a path in it
   */
  cacheOf(model: string): string {
    const { root } = this.#options;
    const [first, name] = relative(root, model).split(sep);
    if (first === modelsFolder && name !== undefined) return join(root, modelsFolder, name, ownCache);
    return join(root, cacheFolder);
  }

  /** Returns the path of the folder in which attempts at a job keep their progress. The attempts create it. */
  jobFolder(jobId: string): string {
    return join(this.#options.root, jobKey(jobId));
  }

  /** Returns the ids of those jobs whose attempts have kept progress. */
  jobIds(): Promise<readonly string[]> {
    return namesIn(join(this.#options.root, "jobs"));
  }

  async removeJob(jobId: string): Promise<void> {
    await rm(this.jobFolder(jobId), { recursive: true, force: true });
  }

  /**
   * Removes the scratch files of servers that no longer have a lease. If the artifacts are in the same folder, {@link
   * ArtifactStore.sweepAbandoned} must run first, because this function also removes unfinished writes of artifacts.
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

  /** Calls `work` with an empty folder, and removes the folder afterwards. */
  async withScratch<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(workOf(this.#options), newUuid());
    await mkdir(folder, { recursive: true });
    try {
      return await work(folder);
    } finally {
      // Retries the removal, because interrupted work may continue to write for a moment.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
  }
}

/** Returns the key of the artifact in which trainers keep data for later attempts at a job. */
export function jobKey(jobId: string): string {
  return `jobs/${jobId}`;
}
