// Exports, imports and copies the files of trained models' versions. Slow work runs in a worker, one part of a model at
// a time, so at most one part is in memory. Exported files are read only as fast as the receiver consumes them.
import { open } from "node:fs/promises";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import {
  adapterId,
  type BaseHashes,
  type ModelStore,
  type ModelVersion,
  shownBase,
  type TrainedModel,
  type VersionKey,
} from "../../../base/domain/model.ts";
import { present } from "../../../base/domain/assert.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { otherWeights } from "../../../base/domain/transient-errors/missing-base.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import { baseHashes } from "../../architectures/hashes/base-hashes.ts";
import type { AdaptersInUse } from "../registry/version-uses.ts";
import type { CopiedAdapter } from "../registry/register-model.ts";
import type { ModelSettings } from "../registry/settings.ts";
import { copyAdapter } from "./copy-adapter.ts";
import { importAdapter, type ImportedVersion } from "./import-adapter.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import type { UnpackRequest } from "./unpack-adapter.ts";
import type { CheckpointTasks } from "./checkpoint-tasks.ts";
import type { ExportPlanRequest } from "./plan-export.ts";
import type { FilePart, PlannedFile } from "./row-parts.ts";

/** Identifies the request that imports an adapter, for the log. */
export interface ImportRequest {
  readonly requestId: string;
}

/** Dependencies of exports, imports and copies. */
export interface CheckpointFilesOptions {
  readonly store: Pick<ModelStore, "addVersion">;
  readonly clock: Clock;
  readonly settings: Pick<ModelSettings, "importRankMax" | "importBytesMax" | "importCountMax">;
  /** Loads an imported version in the base's engine ahead of time, so that no request waits for it; never rejects. */
  readonly prepareVersion: (version: ModelVersion, baseModel: string, by: ImportRequest) => Promise<void>;
  /** Called when a model has a new version; never rejects. */
  readonly onNewVersion: (modelId: string, by: ImportRequest) => Promise<void>;
  /** Folders of the base models, by the models' names. */
  readonly baseFolders: ReadonlyMap<string, string>;
  readonly artifacts: ArtifactStore;
  /**
   * Protects a version that is about to be read, so that other servers do not delete it. Resolves to false if the
   * version was just deleted.
   */
  readonly useVersion: (version: VersionKey) => Promise<boolean>;
  /** Counts the requests that read each adapter, so that no version is deleted while it is read. */
  readonly adapters: AdaptersInUse;
  readonly folder: ServerFolder;
}

/** Format of an export, and its options. */
export interface ExportChoice extends Pick<ExportPlanRequest, "format"> {
  readonly chosenType?: ExportPlanRequest["chosenType"];
}

/** A file of an export. It is read from disk only as fast as it is consumed. */
export interface ExportedFile {
  readonly name: string;
  readonly byteCount: number;
  /** Yields exactly `byteCount` bytes in total. If reading fails, throws the error instead of ending early. */
  readonly pieces: () => AsyncGenerator<Uint8Array, void>;
}

/** Maximum size in bytes of the pieces in which files are read. */
const pieceBytesMax = 1 << 20;

export class CheckpointFiles {
  readonly #options: CheckpointFilesOptions;
  #importCount = 0;
  readonly #pool = newPool();
  /**
   * Workers that unpack archives. They are separate from the workers for exports, because unpacking may take long and
   * exports must not wait for it.
   */
  readonly #unpackers = newPool();

  constructor(options: CheckpointFilesOptions) {
    this.#options = options;
  }

  /**
   * Returns the files of a version, as a PEFT folder, as a merged model, or as a GGUF file.
   *
   * @throws ServiceError with one of these codes:
   * - `unsupported` for the adapter of version 0, which has none, for a base that is not served, and for a model that
   * the format cannot express
   * - `conflict` when the files cannot be read or differ from the stored hash, and for a merged model if the base's
   * weights are not those that the version was trained on
   */
  async export(
    model: TrainedModel,
    version: ModelVersion,
    { format, chosenType = null }: ExportChoice,
  ): Promise<readonly ExportedFile[]> {
    const { step, adapterFolder, adapterHash } = version;
    const isAdapter = format === "peft" || format === "gguf-adapter";
    if (adapterFolder === null && isAdapter) throw noAdapter();
    const baseFolder = this.#baseFolderOf(model);
    if (!isAdapter) await this.#requireBase(version, baseFolder);
    await this.#use(version);
    const { artifacts } = this.#options;
    const folder = adapterFolder === null ? null : await artifacts.path(adapterFolder, null);
    const name = `${model.entity}/${model.project}/${model.name}:step${step}`;
    const wanted = { format, chosenType, name, baseFolder, adapterFolder: folder, adapterHash };
    const plan = await this.#pool.run("plan", wanted).catch((cause: unknown) => {
      if (cause instanceof ServiceError && cause.code === "unsupported") throw cause;
      throw cannotBe("exported", step, cause);
    });
    const id = adapterFolder === null ? null : adapterId(model.id, step);
    return plan.map((file) => this.#exported(file, id));
  }

  /**
   * Imports a PEFT folder, sent as a tar archive, as the model's next version.
   *
   * @throws ServiceError as `importAdapter`; `unsupported` for a base that is not served, `overloaded` at the limit of
   * concurrent imports
   */
  async import(
    model: TrainedModel,
    archive: AsyncIterable<Uint8Array>,
    by: ImportRequest,
  ): Promise<ImportedVersion> {
    const { store, artifacts, folder, clock, settings } = this.#options;
    const { importRankMax: rankMax, importBytesMax: bytesMax, importCountMax: countMax } = settings;
    const baseFolder = this.#baseFolderOf(model);
    if (this.#importCount >= countMax) throw tooManyImports(countMax);
    this.#importCount += 1;
    try {
      const { weights: base } = await this.#hashesOf(baseFolder);
      const check = async (unpacked: string) => {
        const checked = await this.#pool.run("check", { folder: unpacked, baseFolder, rankMax });
        refuseOtherBase(model, checked.baseWeights, base);
        return checked;
      };
      const unpack = (task: UnpackRequest) => this.#unpackers.run("unpack", task);
      const dependencies = { store, artifacts, folder, unpack, check, base, bytesMax };
      const imported = await importAdapter(dependencies, model, { archive, createdAt: clock.now() });
      await this.#options.prepareVersion(imported.version, model.baseModel, by);
      await this.#options.onNewVersion(model.id, by);
      return imported;
    } finally {
      this.#importCount -= 1;
    }
  }

  /**
   * Copies the adapter of a version and its state for further training, for a new model that will be registered next.
   *
   * @throws ServiceError `conflict` for an adapter that cannot be read or differs from the stored hash
   */
  async copy(version: ModelVersion, modelId: string): Promise<CopiedAdapter> {
    const { step, adapterFolder } = version;
    const leave = this.#options.adapters.enter(adapterId(version.modelId, step));
    try {
      await this.#use(version);
      const { artifacts } = this.#options;
      const hashOf = (folder: string) => this.#pool.run("hash", { folder });
      const source = { ...version, adapterFolder: present(adapterFolder, "the adapter of a copied version") };
      return await copyAdapter({ artifacts, hashOf }, source, modelId);
    } catch (cause) {
      throw fullDiskError(cause) ?? cannotBe("copied", step, cause);
    } finally {
      leave();
    }
  }

  /** Returns the hex SHA-256 of an adapter's files. */
  async hashOf(adapterFolder: string): Promise<string> {
    return this.#pool.run("hash", { folder: await this.#options.artifacts.path(adapterFolder, null) });
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#unpackers.close()]);
  }

  /**
   * Protects a version from deletion by other servers while it is read.
   *
   * @throws ServiceError `not_found` if the version was just deleted
   */
  async #use({ modelId, step, adapterFolder }: ModelVersion): Promise<void> {
    if (adapterFolder === null || (await this.#options.useVersion({ modelId, step }))) return;
    throw notFound("version", String(step));
  }

  #baseFolderOf(model: TrainedModel): string {
    const folder = this.#options.baseFolders.get(model.baseModel);
    if (folder === undefined) throw noBase(model);
    return folder;
  }

  #hashesOf(baseFolder: string): Promise<BaseHashes> {
    return baseHashes(baseFolder, this.#options.folder.cacheOf(baseFolder));
  }

  async #requireBase({ step, base }: ModelVersion, baseFolder: string): Promise<void> {
    if (base === null) return;
    const { weights } = await this.#hashesOf(baseFolder);
    if (base === weights) return;
    throw new ServiceError({ code: "conflict", message: `Version ${step} ${otherWeights(base, weights)}` });
  }

  #exported({ name, byteCount, parts }: PlannedFile, adapter: string | null): ExportedFile {
    const { adapters } = this.#options;
    const piecesOf = (part: FilePart) => this.#piecesOf(part);
    const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
      const leave = adapters.enter(adapter);
      try {
        for (const part of parts) yield* piecesOf(part);
      } finally {
        leave();
      }
    };
    return { name, byteCount, pieces };
  }

  async *#piecesOf(part: FilePart): AsyncGenerator<Uint8Array, void> {
    if (part.kind === "made") yield part.bytes;
    else if (part.kind === "merged") yield await this.#pool.run("merge", part.rows);
    else yield* bytesOf(part.file, part.start, part.end);
  }
}

function newPool(): WorkerPool<CheckpointTasks> {
  return new WorkerPool({
    module: new URL("./checkpoint-tasks.js", import.meta.url),
    workerCount: 1,
    stageMs: [120_000],
    memoryMebibytes: 1024,
  });
}

async function* bytesOf(file: string, start: number, end: number): AsyncGenerator<Uint8Array, void> {
  const handle = await open(file);
  try {
    for (let position = start; position < end;) {
      const wanted = new Uint8Array(Math.min(pieceBytesMax, end - position));
      const { bytesRead } = await handle.read(wanted, 0, wanted.length, position);
      if (bytesRead === 0) throw new Error(`${file} ends ${end - position} bytes early.`);
      yield wanted.subarray(0, bytesRead);
      position += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

function tooManyImports(countMax: number): ServiceError {
  const message = `${countMax} adapters are being imported, the maximum; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function noAdapter(): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message:
      "Version 0 is the base model itself, which has no adapter; export it as merged or gguf, or another version.",
  });
}

function noBase({ baseModel }: TrainedModel): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `The model is trained over ${JSON.stringify(baseModel)}, which this server does not serve; start it with that base model.`,
  });
}

function cannotBe(done: "copied" | "exported", step: number, cause: unknown): ServiceError {
  // Callers get the cause only if the adapter has changed. All other causes are internal.
  const why =
    cause instanceof ServiceError && cause.code === "conflict"
      ? cause.message
      : "Its files cannot be read; the server's log says why.";
  return new ServiceError({
    code: "conflict",
    message: `Version ${step} cannot be ${done}. ${why}`,
    cause,
  });
}

function refuseOtherBase({ baseModel }: TrainedModel, said: string | null, weights: string): void {
  if (said === null || said === weights) return;
  throw new ServiceError({
    code: "conflict",
    message:
      `adapter_config.json says that the adapter was trained over ${shownBase(said)} (base_model_sha256); the base model ` +
      `${JSON.stringify(baseModel)} has ${shownBase(weights)} here, with which its answers would differ. Import it over ` +
      "the weights that it was trained on, or remove the field to accept the difference.",
  });
}
