// Implements `hone models add`, `added` and `remove` in a data folder. They work while a server runs, because added
// models are in a separate folder that no server locks.
import { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { kernelsText } from "../../../base/domain/kernels/integer-kernels.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { machineKernels } from "../../../inference/engine/device/machine-kernels.ts";
import { addFromFiles } from "../../../inference/models/library/add-from-files.ts";
import { addFromHub, type AddProgress } from "../../../inference/models/library/add-from-hub.ts";
import {
  sizeOf,
  describeSource,
  type AddedModel,
  type ModelSource,
} from "../../../inference/models/library/added-model.ts";
import { isModelPath } from "../../../inference/models/library/model-path.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { mayBeRounded } from "../../../inference/architectures/weights.ts";
import { fullName } from "../../../inference/models/registry/model-name.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { readConfig, readHubSettings, type HoneConfig } from "../config.ts";
import { databasePlace, takeFileLock } from "../database-place.ts";
import { makeFolder } from "../make-folder.ts";
import { computedAs } from "../model-check/computed-as.ts";
import { builtInModel } from "../package.ts";
import { keepNewFilesPrivate } from "../private-files.ts";
import { libraryOf } from "./added-models.ts";

export type { AddProgress };

interface DataFlags {
  readonly data?: string;
}

/** An added model, as commands show it. */
export interface ListedModel {
  readonly name: string;
  readonly state: "whole" | "without_weights" | "unfinished";
  /** Size of the model's files in bytes; null for a partial download. */
  readonly bytes: number | null;
  readonly license: string | null;
  /** Origin: `owner/name:kind` on the hub, or the path of the original file or folder. */
  readonly source: string;
  /** Commit of the hub's repository; null for a model that was added from files. */
  readonly commit: string | null;
  readonly addedAt: Date | null;
}

/**
 * Adds a model: the GGUF file or folder if `text` is a path, otherwise the model with that name on the hub.
 *
 * @returns the model, and whether a server that is started without flags would serve it
 * @throws ServiceError as `addFromFiles` and `addFromHub`
 */
export async function addModel(
  text: string,
  flags: DataFlags & { readonly name?: string; readonly withoutWeights?: boolean },
  report: (progress: AddProgress) => void,
): Promise<{
  readonly model: ListedModel;
  readonly isServed: boolean;
  /**
   * Precision in which this machine computes the model, as text; null for a model without weights, which other servers
   * compute.
   */
  readonly computing: string | null;
}> {
  const config = configOf(flags);
  const { name = null, withoutWeights = false } = flags;
  const options = { name, reserved: [builtInModel().name], withoutWeights, report };
  keepNewFilesPrivate();
  await makeFolder(config.server.data, "--data");
  const library = libraryOf(config.server.data, takeFileLock);
  const model = isModelPath(text)
    ? await addFromFiles(library, text, options)
    : await addFromHub(library, text, { ...options, ...readHubSettings(), clock: systemClock });
  const hasWeights = model.source.withoutWeights !== true;
  const isServed = config.server.model.length === 0 && hasWeights;
  const computing = hasWeights ? await computingOf(library.pathOf(model), config) : null;
  return { model: listed(model), isServed, computing };
}

/** Describes the precision and, for quantized weights, this machine's kernels and their speed. */
async function computingOf(path: string, { server }: HoneConfig): Promise<string> {
  const cacheOf = (file: string): string =>
    new ServerFolder({ root: server.data, server: () => "" }).cacheOf(file);
  const folder = path.endsWith(".gguf") ? ensureGgufFolder(path, cacheOf(path)) : path;
  if (!mayBeRounded(folder, server.quantize)) return "float32";
  const kernels = await machineKernels(cacheOf(folder));
  const precision = computedAs(folder, server.quantize, kernels);
  return precision === "float32" ? precision : `${precision}: ${kernelsText(kernels)}`;
}

/** Returns the models of a data folder, including partial downloads. */
export function listAddedModels(flags: DataFlags): readonly ListedModel[] {
  const library = libraryOf(configOf(flags).server.data, takeFileLock);
  const whole = library.list();
  const unfinished = library.listUnfinished().filter(({ name }) => !whole.some((one) => one.name === name));
  return [
    ...whole.map(listed),
    ...unfinished.map(({ name, source }) => ({
      ...fieldsOf(source),
      name,
      state: "unfinished" as const,
      bytes: null,
      license: null,
      addedAt: null,
    })),
  ];
}

/**
 * Removes an added model from a data folder.
 *
 * @throws ServiceError `not_found` for an unknown model; `conflict` if a running server serves it, or trained models
 * are based on it
 */
export async function removeModel(name: string, flags: DataFlags): Promise<void> {
  const config = configOf(flags);
  const library = libraryOf(config.server.data, takeFileLock);
  await library.remove(name, async () => {
    // A partial download cannot be in use.
    if (library.find(name) !== null) await refuseUsed(name, config);
  });
}

function configOf({ data }: DataFlags): HoneConfig {
  return readConfig(data === undefined ? {} : { data });
}

function listed(model: AddedModel): ListedModel {
  const { name, source, license, addedAt } = model;
  const state = source.withoutWeights === true ? "without_weights" : "whole";
  return { name, state, bytes: sizeOf(model), license, ...fieldsOf(source), addedAt };
}

function fieldsOf(source: ModelSource): Pick<ListedModel, "source" | "commit"> {
  return { source: describeSource(source), commit: source.kind === "hub" ? source.commit : null };
}

async function refuseUsed(name: string, config: HoneConfig): Promise<void> {
  const place = databasePlace(config);
  if (!place.exists()) return;
  const database = await place.open({ isShared: true });
  try {
    await refuseServed(name, database);
    await refuseTrained(name, database);
  } finally {
    await database.close();
  }
}

async function refuseServed(
  name: string,
  { servers, clock }: Pick<Stores, "servers" | "clock">,
): Promise<void> {
  if (!(await servers.serves(name, clock.now()))) return;
  throw new ServiceError({
    code: "conflict",
    message: `A running server serves ${name}. Stop it first; one that has just died counts as running for up to a minute.`,
  });
}

/** Maximum number of trained models named in a message. */
const shownCount = 5;

async function refuseTrained(name: string, { models }: Pick<Stores, "models">): Promise<void> {
  const trained: TrainedModel[] = [];
  const all = { entity: null, project: null, name: null };
  for await (const model of allItems((page) => models.list(all, page)))
    if (model.baseModel === name) trained.push(model);
  if (trained.length === 0) return;
  const names = trained.slice(0, shownCount).map(fullName).join(", ");
  const more = trained.length > shownCount ? ` and ${trained.length - shownCount} more` : "";
  throw new ServiceError({
    code: "conflict",
    message: `${name} is the base model of ${names}${more}, which need it to be served or trained. Delete those first (\`hone models delete\`).`,
  });
}
