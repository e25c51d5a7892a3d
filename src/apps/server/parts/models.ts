// Builds the base models, whose engines start later. Also starts this server's lease, and records which versions it
// uses.
import type { Engine } from "../../../base/domain/generation.ts";
import type { ModelVersion } from "../../../base/domain/model.ts";
import { chooseDevice } from "../../../inference/engine/device/choose-device.ts";
import { AdaptersInUse, VersionUses } from "../../../inference/models/registry/version-uses.ts";
import { listBaseModels } from "../../../inference/models/registry/base-models.ts";
import { readAliases } from "../../../inference/models/registry/model-aliases.ts";
import { adapterOf, createModelDirectory } from "../../../inference/models/registry/model-directory.ts";
import { PublishedVersions } from "../../../inference/models/registry/published-versions.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { ServerLease } from "../../../train/jobs/server-lease.ts";
import { requireOne } from "../bases/failed-bases.ts";
import { memoryObserver } from "../bases/memory-observer.ts";
import { createServedBases, servedBases } from "../bases/served-bases.ts";
import { createVersionRecords } from "../data-folder/version-records.ts";
import { addedBases } from "../library/added-models.ts";
import { builtInModel } from "../package.ts";
import type { ServerContext, Start } from "./context.ts";

export type Models = Awaited<ReturnType<typeof buildModels>>;

export async function buildModels(context: ServerContext, start: Start) {
  const { settings, database, artifacts, folder, identity, server, log, build, tools, warn } = context;
  const { clock, metrics, logger } = tools;
  const { data, model: named, defaultModel, quantize: quantization } = settings.server;
  const aliases = readAliases(settings.server.modelAliases);
  const builtIn = settings.server.builtInModel === "on" ? builtInModel() : null;
  const cacheOf = (model: string): string => folder.cacheOf(model);
  const folderOfFile = (file: string): string => ensureGgufFolder(file, cacheOf(file));
  const added = addedBases(data);
  const listed = listBaseModels({ named, defaultModel, added, folderOfFile, quantization }, builtIn);
  const baseNames = listed.map((model) => model.name);
  const device = await chooseDevice(settings.server.device, builtInModel().folder);
  const observer = memoryObserver(metrics, logger, baseNames);
  const served = await createServedBases(listed, { ...tools, cacheOf, settings, device, observer, log });
  const { bases, failed } = served;
  requireOne(bases, failed);
  const models = bases.map(({ model }) => model);
  const names = models.map(({ name }) => name);
  const place = await artifacts.placeId();
  const { servers, models: store } = database;
  const lease = { ...tools, identity, servers, baseModels: names, artifacts: place };
  await start(new ServerLease(lease, settings.jobs));
  const adapters = new AdaptersInUse();
  const uses = new VersionUses({
    store,
    clock,
    server,
    adaptersInUse: () => adapters.ids(),
    onFault: warn("the versions that this server uses could not be written"),
  });
  await start(uses);
  const records = createVersionRecords({ models, store, cacheOf, logger });
  const baseOf = (name: string) => bases.find(({ model }) => model.name === name);
  const engineOf = (name: string): Engine | undefined => baseOf(name)?.engine;
  /**
   * Returns the hash of the weights that a base's engine is using, or the recorded hash of the base while the engine
   * is not loaded; null if unknown.
   */
  const weightsOf = (name: string): string | null => {
    const state = engineOf(name)?.status().state;
    return (state?.kind === "ready" ? state.weights : records.hashesOf(name)?.weights) ?? null;
  };
  const directory = createModelDirectory({
    store,
    bases: baseNames,
    defaultBase: listed[0].name,
    aliases,
    weightsOf,
    artifacts,
    useVersion: (version) => uses.use(version),
    precisionOf: (name) => baseOf(name)?.precision ?? null,
    build,
  });
  /** Loads a version's adapter into its base's engine; does nothing on a server that only trains. */
  const prepareVersion = async (version: ModelVersion, baseModel: string): Promise<void> => {
    if (!context.isServing) return;
    const adapter = await adapterOf(version, artifacts);
    if (adapter !== null) await engineOf(baseModel)?.prepareAdapter(adapter);
  };
  const publishedVersions = new PublishedVersions({
    announcements: database.announcements,
    store,
    modelsInUse: () => uses.models(),
    prepareVersion,
    onFault: (error, modelId) =>
      logger.warn({ err: error, modelId }, "a published version could not be loaded in advance"),
  });
  await start(publishedVersions);
  return {
    ...served,
    /** Names of all bases including failed ones; default first. */
    baseNames,
    /** Base models as requests access them. */
    shelf: servedBases({ bases, failed }),
    records,
    adapters,
    uses,
    directory,
    engineOf,
    weightsOf,
    prepareVersion,
  };
}
