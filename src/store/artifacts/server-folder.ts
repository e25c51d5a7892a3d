// What a server has in a folder of its own, locked for one server at a time: caches, what attempts at jobs keep for each
// other, and what it is just working with, in `work/<server>`. Artifacts may lie in the same folder or in another.
import { mkdir, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { ArtifactWriter } from "./artifact-store.ts";
import { newUuid } from "../../base/domain/random.ts";
import { namesIn } from "./folder-names.ts";

/** In a root, a folder for each server. */
export const workFolder = "work";

/** The folder of the server that writes: what it has not finished, which is of no use without it and goes with its lease. */
export function workOf({ root, server }: Pick<ArtifactWriter, "server"> & { readonly root: string }): string {
  return join(root, workFolder, server());
}

interface ServerFolderOptions extends Pick<ArtifactWriter, "server"> {
  readonly root: string;
}

/** In a root, a folder for each model that was added. */
export const modelsFolder = "models";
/** In a root: what a backup that is being made keeps of its moment. */
export const backupFolder = "backup";
/** In a root: what is computed of models, and files of a bucket. */
export const cacheFolder = "cache";
/** In the folder of a model: what is computed of it. */
const ownCache = ".cache";

/** What servers make in their folders; earlier ones made `imports` too. */
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
   * Of what is computed of a model, and made anew where it is missing: within the model's own folder where that is one that
   * was added, so that it goes with it.
   *
   * @param model a path of it
   */
  cacheOf(model: string): string {
    const { root } = this.#options;
    const [first, name] = relative(root, model).split(sep);
    if (first === modelsFolder && name !== undefined) return join(root, modelsFolder, name, ownCache);
    return join(root, cacheFolder);
  }

  /** Where attempts at a job keep what they have done; made by them. */
  jobFolder(jobId: string): string {
    return join(this.#options.root, jobKey(jobId));
  }

  /** The jobs that something is kept of. */
  jobIds(): Promise<readonly string[]> {
    return namesIn(join(this.#options.root, "jobs"));
  }

  async removeJob(jobId: string): Promise<void> {
    await rm(this.jobFolder(jobId), { recursive: true, force: true });
  }

  /**
   * Removes what earlier servers were working with, where no artifacts are written beside it that this would take along: see
   * {@link ArtifactStore.sweepAbandoned}, which comes first.
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

  /** Has `work` use an empty folder, which goes when it is done. */
  async withScratch<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
    const folder = join(workOf(this.#options), newUuid());
    await mkdir(folder, { recursive: true });
    try {
      return await work(folder);
    } finally {
      // What is broken off may be written to for a moment more.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    }
  }
}

/** The key of what trainers keep for attempts at a job. */
export function jobKey(jobId: string): string {
  return `jobs/${jobId}`;
}
