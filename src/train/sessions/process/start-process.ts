// Starts the training process of a live model: chooses the base model's files, the shape of new adapters, and the
// process's share of the training memory.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { PlacedArtifacts } from "../../../store/artifacts/artifact-place.ts";
import type { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { missingFilesError } from "../../../base/domain/transient-errors/missing-base.ts";
import { hasWeights } from "../../../lib/model-files/weight-files.ts";
import { baseHashes } from "../../../inference/architectures/hashes/base-hashes.ts";
import { pinnedSettings, settingsOfJob, type TrainingSettings } from "../../trainer/settings.ts";
import type { CallKind, SessionCalls } from "./protocol.ts";
import { SessionProcess } from "./session-process.ts";

/** A started process, which has no open trainer yet. */
export interface LiveProcess {
  /** Hex SHA-256 of the base model's weights. */
  readonly weights: string;
  /** True once the process has ended. */
  readonly isGone: boolean;
  call<Kind extends CallKind>(
    kind: Kind,
    given: SessionCalls[Kind]["arguments"],
  ): Promise<SessionCalls[Kind]["result"]>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly artifacts: Pick<PlacedArtifacts, "place">;
  readonly folder: Pick<ServerFolder, "cacheOf">;
  /** Folder of each base model, by the model's name. */
  readonly baseFolders: ReadonlyMap<string, string>;
  readonly settings: TrainingSettings;
  /** Number of equal shares into which the memory limit of training is divided. */
  readonly shareCount: number;
  /** True if jobs run on another server. Live models then cannot be trained here. */
  readonly trainsElsewhere: boolean;
  readonly clock: Clock;
}

/**
 * Refuses a base model over which this server cannot train live models.
 *
 * @throws ServiceError `unsupported`
 */
export function requireLive({ baseFolders, trainsElsewhere }: ProcessOptions, baseModel: string): void {
  const folder = baseFolders.get(baseModel);
  if (!trainsElsewhere && folder !== undefined && hasWeights(folder)) return;
  const why = trainsElsewhere
    ? "this server trains on another one (server.trainer). Point the client at that server"
    : "its weights are not on this machine. Put them into the folder of its files and restart the server";
  throw new ServiceError({
    code: "unsupported",
    message: `The base model ${JSON.stringify(baseModel)} cannot be trained here, because ${why}.`,
  });
}

/** @throws ServiceError as {@link requireLive} and `SessionProcess.start` */
export async function startProcess(
  options: ProcessOptions,
  { baseModel, adapter }: Pick<TrainedModel, "baseModel" | "adapter">,
  signal: AbortSignal,
): Promise<LiveProcess> {
  requireLive(options, baseModel);
  const folder = resolve(options.baseFolders.get(baseModel) ?? "");
  if (!existsSync(join(folder, "config.json"))) throw missingFilesError(baseModel);
  const cacheFolder = options.folder.cacheOf(folder);
  const { weights } = await baseHashes(folder, cacheFolder);
  const memoryBytes = Math.floor(options.settings.memoryBytes / options.shareCount);
  const settings = { ...options.settings, memoryBytes };
  const process = await SessionProcess.start(
    {
      elsewhere: null,
      baseModel: { name: baseModel, folder, weights, toolsAsText: false },
      settings: settingsOfJob(settings, pinnedSettings(settings, adapter)),
      artifacts: options.artifacts.place,
      cacheFolder,
    },
    { clock: options.clock, signal },
  );
  return Object.assign(process, { weights });
}
