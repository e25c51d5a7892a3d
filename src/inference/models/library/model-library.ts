// The base models that were added to this server, one folder each. A folder under a model's name is complete.
// Unfinished models are in the folder `.unfinished`; repeating the command that adds a model resumes it.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { flush, makeFolder } from "../../../store/artifacts/flush.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { invalid, notFound, ServiceError } from "../../../base/domain/service-error.ts";
import {
  findGgufFile,
  readRecord,
  recordFile,
  recordText,
  type AddedModel,
  type ModelSource,
} from "./added-model.ts";

/**
 * Takes a lock that is tied to a file. The lock is released when this process ends. Throws `conflict` if another
 * process holds it.
 */
export type TakeLock = (file: string) => { release(): void };

export interface LibraryOptions {
  readonly folder: string;
  readonly takeLock: TakeLock;
  readonly clock: Clock;
}

const unfinishedName = ".unfinished";
const locksName = ".locks";
/** Name of the file in an unfinished model's folder that records its source. */
const sourceName = ".source";
/** Time in milliseconds after which an unfinished model is removed if nobody resumes it. */
const forgottenMs = 7 * 24 * 3600 * 1000;

export class ModelLibrary {
  readonly #options: LibraryOptions;

  constructor(options: LibraryOptions) {
    this.#options = options;
  }

  /** Returns all complete models, by name. */
  list(): readonly AddedModel[] {
    return namesIn(this.#options.folder).flatMap((name) => this.find(name) ?? []);
  }

  find(name: string): AddedModel | null {
    if (!isModelName(name)) return null;
    const record = readRecord(this.folderOf(name));
    return record === null ? null : { ...record, name };
  }

  /** Returns the unfinished models. */
  listUnfinished(): readonly { readonly name: string; readonly source: ModelSource }[] {
    return namesIn(join(this.#options.folder, unfinishedName)).flatMap((name) => {
      const source = this.#unfinishedSource(name);
      return source === null ? [] : [{ name, source }];
    });
  }

  /** Returns the folder of a model's files. */
  folderOf(name: string): string {
    return join(this.#options.folder, name);
  }

  /** Returns the path to pass to `--model`: the model's folder, or a GGUF file in it. */
  pathOf({ name, files }: Pick<AddedModel, "name" | "files">): string {
    const gguf = findGgufFile(files);
    return gguf === null ? this.folderOf(name) : join(this.folderOf(name), gguf);
  }

  /**
   * Adds a model. Calls `collect` to put the model's files into a temporary folder, which then gets the model's name.
   * If an earlier, unfinished call had the same source, the temporary folder still contains the files of that call.
   *
   * @param source origin of the files, recorded for resuming; an unfinished model with the same name but another source
   * is removed
   * @throws ServiceError `conflict` if a complete model already has the name, or another process is adding a model
   * under it
   */
  async add(
    name: string,
    source: ModelSource,
    collect: (folder: string) => Promise<Pick<AddedModel, "license" | "files">>,
  ): Promise<AddedModel> {
    const { folder, clock } = this.#options;
    await makeFolder(join(folder, unfinishedName), dirname(folder));
    this.#sweep();
    return this.#locked(name, async () => {
      if (this.find(name) !== null) throw nameTaken(name);
      const work = this.#beginWork(name, source);
      const collected = await collect(work).catch((error: unknown) => {
        if (source.kind === "file" || isFinal(error)) rmSync(work, { recursive: true, force: true });
        throw inWordsOfSource(error, work, source);
      });
      const model: AddedModel = { name, source, addedAt: clock.now(), ...collected };
      await writeFile(recordFile(work), recordText(model));
      rmSync(join(work, sourceName));
      for (const file of [recordFile(work), ...model.files.map((one) => join(work, one.name)), work])
        await flush(file);
      // The rename fails if a folder with that name exists. A folder without a record was not created by Hone and is
      // never served, but it blocks the name.
      await rename(work, this.folderOf(name)).catch((cause: unknown) => {
        throw nameTaken(name, cause);
      });
      await flush(folder);
      return model;
    });
  }

  /**
   * Removes a complete or an unfinished model.
   *
   * @param check called first, while the lock is held; rejects if the model must not be removed
   * @throws ServiceError `not_found` if there is no model with the name
   */
  async remove(name: string, check: () => Promise<void>): Promise<void> {
    const unfinished = this.#workOf(name);
    const isThere = (): boolean =>
      isModelName(name) && (this.find(name) !== null || this.#unfinishedSource(name) !== null);
    if (!isThere()) throw notFound("added model", name);
    await this.#locked(name, async () => {
      if (!isThere()) throw notFound("added model", name);
      await check();
      rmSync(unfinished, { recursive: true, force: true });
      if (this.find(name) === null) return;
      // The folder is moved to `.unfinished` first. After a crash, a half-removed model then does not count as a model.
      await makeFolder(join(this.#options.folder, unfinishedName));
      await rename(this.folderOf(name), unfinished);
      rmSync(unfinished, { recursive: true, force: true });
    });
  }

  #workOf(name: string): string {
    return join(this.#options.folder, unfinishedName, name);
  }

  /**
   * Returns the temporary folder of an unfinished model. Keeps the files in it that an earlier call with the same
   * source has collected.
   */
  #beginWork(name: string, source: ModelSource): string {
    const work = this.#workOf(name);
    if (!isDeepStrictEqual(this.#unfinishedSource(name), source))
      rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    writeFileSync(join(work, sourceName), JSON.stringify(source));
    return work;
  }

  #unfinishedSource(name: string): ModelSource | null {
    try {
      // Safe cast: the result is only compared with other sources. A malformed source equals no valid one, so its files
      // are not reused.
      return JSON.parse(readFileSync(join(this.#workOf(name), sourceName), "utf8")) as ModelSource;
    } catch {
      // Without a complete record of the source there is nothing to resume.
      return null;
    }
  }

  /** Removes half-removed models, and unfinished models that nobody has resumed for {@link forgottenMs}. */
  #sweep(): void {
    const { folder, clock } = this.#options;
    for (const name of namesIn(join(folder, unfinishedName))) {
      const work = this.#workOf(name);
      const startedMs = statSync(join(work, sourceName), { throwIfNoEntry: false })?.mtimeMs ?? 0;
      if (clock.now().getTime() - startedMs < forgottenMs) continue;
      const lock = this.#tryLock(name);
      if (lock === null) continue;
      rmSync(work, { recursive: true, force: true });
      lock.release();
    }
  }

  async #locked<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const lock = this.#tryLock(name);
    if (lock === null) {
      throw new ServiceError({
        code: "conflict",
        message: `Another command is adding or removing ${name}; wait for it, or end it.`,
      });
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }

  #tryLock(name: string): { release(): void } | null {
    const locks = join(this.#options.folder, locksName);
    mkdirSync(locks, { recursive: true });
    try {
      return this.#options.takeLock(join(locks, name));
    } catch (error) {
      if (error instanceof ServiceError && error.code === "conflict") return null;
      throw error;
    }
  }
}

/** True if a text is valid both as the name of a base model and as the name of a folder. */
export function isModelName(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]{0,127}$/.test(text);
}

/**
 * Refuses an invalid model name.
 *
 * @param reserved names of other served models
 * @throws ServiceError `invalid` for a text that cannot be a name, `conflict` for a reserved name
 */
export function checkModelName(name: string, reserved: readonly string[]): void {
  if (reserved.includes(name)) {
    throw new ServiceError({
      code: "conflict",
      message: `${name} is the built-in model's name; give this one another with --name.`,
    });
  }
  if (isModelName(name)) return;
  throw invalid(
    `${JSON.stringify(name)} is no name for a model: use only letters, digits, "_", "-" and ".", first a letter or digit, at most 128; give one with --name.`,
  );
}

/** True if a retry cannot succeed, because the collected files are not a valid model. */
function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === "invalid" || error.code === "unsupported");
}

function nameTaken(name: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `The model ${name} already exists. Remove it first (\`hone models remove ${name}\`), or give this one another name with --name.`,
    cause,
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter(isModelName).toSorted();
  } catch (error) {
    // ENOTDIR means that the path of the data folder leads through a file. Other code (`makeFolder`, `hone doctor`)
    // reports that.
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Rewrites an error's message: paths in the unfinished folder become the paths or names that the caller gave. */
function inWordsOfSource(error: unknown, work: string, source: ModelSource): unknown {
  if (!(error instanceof ServiceError) || !error.message.includes(work)) return error;
  if (!["invalid", "unsupported", "not_found"].includes(error.code)) return error;
  const shown =
    source.kind === "hub"
      ? source.repository
      : /\.gguf$/i.test(source.path)
        ? dirname(source.path)
        : source.path;
  const { code, faults, cause } = error;
  const message =
    source.kind === "hub" ? withAddCommand(error.message, work, source.repository) : error.message;
  return new ServiceError({ code, message: message.replaceAll(work, shown), faults, cause });
}

/** Replaces the unfinished folder in a command that serves the model with vLLM by a command that adds the model's files. */
function withAddCommand(message: string, work: string, repository: string): string {
  const files = `?files=${work}`;
  if (!message.includes(files)) return message;
  const add = `hone models add ${repository} --name ${basename(work)} --without-weights`;
  return message.replace(files, "").replace("`hone serve", `\`${add}\` and \`hone serve`);
}
