// The versions of trained models as files that other programs read. What takes long is done in a worker, a part at a time:
// no more of a model than a part is in memory, and nothing is read before somebody takes it.
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../domain/clock.ts";
import { adapterId, type ModelStore, type ModelVersion, type TrainedModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";
import { AdaptersInUse } from "../models/adapters-in-use.ts";
import type { ModelSettings } from "../models/settings.ts";
import { importAdapter, type ImportedVersion } from "./import-adapter.ts";
import { WorkerPool } from "../processes/worker-pool.ts";
import type { CheckpointTaskKind, CheckpointTasks } from "./checkpoint-tasks.ts";
import type { ExportFormat, FilePart, PlannedFile } from "./plan-export.ts";

/** What importing needs beside the files. */
export interface CheckpointFilesOptions {
  readonly store: Pick<ModelStore, "addVersion">;
  readonly clock: Clock;
  readonly settings: ModelSettings;
  /** Called when a model has a new version. */
  readonly onNewVersion: (modelId: string) => Promise<void>;
  /** By the name of the base model. */
  readonly baseFolders: ReadonlyMap<string, string>;
  /** Adapters lie in it. */
  readonly dataFolder: string;
}

/** A file that is read as it is taken. */
export interface ExportedFile {
  readonly name: string;
  readonly byteCount: number;
  /** Together so many bytes; a failure is thrown, never an early end. */
  readonly pieces: () => AsyncGenerator<Uint8Array, void>;
}

/** Parts of a file that are copied come in pieces of at most so many bytes. */
const pieceBytesMax = 1 << 20;

export class CheckpointFiles {
  readonly #options: CheckpointFilesOptions;
  readonly #adapters = new AdaptersInUse();
  #importCount = 0;
  readonly #pool = new WorkerPool({
    module: new URL("./checkpoint-thread.js", import.meta.url),
    workerCount: 1,
    stageMs: [120_000],
    memoryMebibytes: 1024,
  });

  constructor(options: CheckpointFilesOptions) {
    this.#options = options;
  }

  /**
   * The files of a version, as a PEFT folder or as a model of its own.
   *
   * @throws ServiceError `unsupported` for the PEFT folder of version 0, which has no adapter, and for a base that is not
   *   served; `internal` when the files cannot be read
   */
  async export(
    model: TrainedModel,
    { step, adapterFolder }: ModelVersion,
    format: ExportFormat,
  ): Promise<readonly ExportedFile[]> {
    if (adapterFolder === null && format === "peft") throw noAdapter();
    const { baseFolders, dataFolder } = this.#options;
    const baseFolder = baseFolders.get(model.baseModel);
    if (baseFolder === undefined) throw noBase(model);
    const folder = adapterFolder === null ? null : join(dataFolder, adapterFolder);
    const plan = await this.#run("plan", { format, baseFolder, adapterFolder: folder }).catch(
      (cause: unknown) => {
        throw unreadable(step, cause);
      },
    );
    const id = adapterFolder === null ? null : adapterId(model.id, step);
    return plan.map((file) => this.#exported(file, id));
  }

  /**
   * Imports a PEFT folder, sent as a tar archive, as the model's next version.
   *
   * @throws ServiceError as `importAdapter`; `unsupported` for a base that is not served, `overloaded` where as many are
   *   imported already as the settings allow
   */
  async import(model: TrainedModel, archive: AsyncIterable<Uint8Array>): Promise<ImportedVersion> {
    const { baseFolders, dataFolder, store, clock, settings } = this.#options;
    const baseFolder = baseFolders.get(model.baseModel);
    if (baseFolder === undefined) throw noBase(model);
    if (this.#importCount >= settings.importsAtOnce) throw tooManyImports(settings.importsAtOnce);
    this.#importCount += 1;
    try {
      const rankMax = settings.adapterRankMax;
      const check = (folder: string) => this.#run("check", { folder, baseFolder, rankMax });
      const dependencies = { store, dataFolder, check, bytesMax: settings.adapterBytesMax };
      const imported = await importAdapter(dependencies, model, { archive, createdAt: clock.now() });
      await this.#options.onNewVersion(model.id);
      return imported;
    } finally {
      this.#importCount -= 1;
    }
  }

  /** The adapters that are read at this moment. */
  adaptersInUse(): Iterable<string> {
    return this.#adapters.ids();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #exported({ name, byteCount, parts }: PlannedFile, adapter: string | null): ExportedFile {
    const adapters = this.#adapters;
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
    if (part.kind === "merged") yield await this.#run("merge", part.rows);
    else yield* bytesOf(part.file, part.start, part.end);
  }

  async #run<Kind extends CheckpointTaskKind>(
    kind: Kind,
    task: CheckpointTasks[Kind]["task"],
  ): Promise<CheckpointTasks[Kind]["result"]> {
    // The worker ran the task of this kind.
    return (await this.#pool.run({ kind, task })) as CheckpointTasks[Kind]["result"];
  }
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
  const message = `${countMax} adapters are being imported, the most at once (models.importsAtOnce); try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function noAdapter(): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message:
      "Version 0 is the base model itself, which has no adapter; export it as merged, or another version.",
  });
}

function noBase({ baseModel }: TrainedModel): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `The model is trained over ${JSON.stringify(baseModel)}, which this server does not serve; start it with that base model.`,
  });
}

function unreadable(step: number, cause: unknown): ServiceError {
  return new ServiceError({
    code: "internal",
    message: `The files of version ${step} cannot be read; the server's log says why.`,
    cause,
  });
}
