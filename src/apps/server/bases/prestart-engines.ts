// Starts the engines' processes before the server's code is loaded: both take about the same time, on separate cores.
// This module imports little, so that the processes start early. A process opens its model early only if that writes
// nothing, since the data folder may still belong to another server.
import { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import { startEngineAhead } from "../../../inference/engine/embedded-engine.ts";
import { openingOf, type ModelOpening } from "../../../inference/engine/opening/model-opening.ts";
import { engineSettings, type EngineSettings } from "../../../inference/engine/settings.ts";
import { findGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { listBaseModels } from "../../../inference/models/registry/base-models.ts";
import { computeEnvironment } from "../../../inference/onnx/environment.ts";
import { requireServed } from "../../../inference/onnx/served-platform.ts";
import { addedBases } from "../library/added-models.ts";
import { addToChildEnvironment, hideSecretsFromChildren, type HoneConfig } from "../config.ts";
import { builtInModel } from "../package.ts";
import { keepNewFilesPrivate } from "../private-files.ts";

interface EngineLimits {
  readonly engine?: Partial<EngineSettings>;
}

/** Sets the environment variables that child processes inherit. */
export function settleChildEnvironment(): void {
  addToChildEnvironment(computeEnvironment);
  hideSecretsFromChildren();
}

/**
 * Starts a process for each engine that the server will certainly load.
 *
 * @throws ServiceError `unsupported` on a platform without native code
 */
export function prestartEngines(config: HoneConfig, limits: EngineLimits): void {
  // Child processes inherit the umask, and write to the cache in the data folder.
  keepNewFilesPrivate();
  requireServed();
  settleChildEnvironment();
  const openings = openingsOf(config, limits);
  // With a memory limit, only the default model is certain to fit.
  const count = config.models.memoryBytes > 0 ? 1 : openings.length;
  for (const opening of openings.slice(0, count)) startEngineAhead(opening);
}

/**
 * Returns the options for opening each model, default first; null for a model that cannot be opened without writing.
 */
function openingsOf({ server, engine }: HoneConfig, limits: EngineLimits): readonly (ModelOpening | null)[] {
  const { data, model: named, defaultModel, quantize: quantization } = server;
  const folder = new ServerFolder({ root: data, server: () => "" });
  const settings = engineSettings.with({ ...engine, ...limits.engine });
  const added = addedBases(data);
  const untaken = new Error("This file has not been converted yet; the server does that.");
  const folderOfFile = (file: string): string => {
    const kept = findGgufFolder(file, folder.cacheOf(file));
    if (kept === null) throw untaken;
    return kept;
  };
  const builtIn = server.builtInModel === "on" ? builtInModel() : null;
  try {
    const models = listBaseModels({ named, defaultModel, added, folderOfFile, quantization }, builtIn);
    return models.flatMap(({ folder: modelFolder, engine, fault }) => {
      if (engine.kind !== "embedded") return [];
      if (fault !== undefined) return fault.cause === untaken ? [null] : [];
      // On a device other than the CPU, the process opens no model yet, because only the server checks whether the
      // device works.
      if (server.device !== "cpu") return [null];
      const cacheFolder = folder.cacheOf(modelFolder);
      return [openingOf({ modelFolder, cacheFolder, quantization: engine.quantization, settings })];
    });
  } catch {
    // The server reports this error later. The processes start without opening a model.
    const count = (named.length || added.length) + (builtIn === null ? 0 : 1);
    return Array.from({ length: count }, () => null);
  }
}
