// Starts the engines' processes before the server is loaded: both take about the same time, on separate cores. Loads
// little code, so that the processes start early. Each process opens its model ahead if that writes nothing, since the
// data folder may belong to another server.
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

/** Sets the environment of child processes. */
export function settleChildEnvironment(): void {
  addToChildEnvironment(computeEnvironment);
  hideSecretsFromChildren();
}

/**
 * Starts a process for each engine that the coming server is certain to load.
 *
 * @throws ServiceError `unsupported` on a platform without native code
 */
export function prestartEngines(config: HoneConfig, limits: EngineLimits): void {
  // A child process inherits the mode of new files, and writes to the data folder's cache.
  keepNewFilesPrivate();
  requireServed();
  settleChildEnvironment();
  const openings = openingsOf(config, limits);
  // Only the default model is certain to fit at this point.
  const count = config.models.memoryBytes > 0 ? 1 : openings.length;
  for (const opening of openings.slice(0, count)) startEngineAhead(opening);
}

/** Returns the opening of each model, default first; null for a model that needs writing before it can be opened. */
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
      // The server checks later whether another device works.
      if (server.device !== "cpu") return [null];
      const cacheFolder = folder.cacheOf(modelFolder);
      return [openingOf({ modelFolder, cacheFolder, quantization: engine.quantization, settings })];
    });
  } catch {
    // The server reports the error.
    const count = (named.length || added.length) + (builtIn === null ? 0 : 1);
    return Array.from({ length: count }, () => null);
  }
}
