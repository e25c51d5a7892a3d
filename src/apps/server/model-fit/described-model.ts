// Finds the configuration of a model by the name that a person gives: in local files, among the added models, or on the
// hub. From the hub, downloads only the files that describe the model.
import { createWriteStream } from "node:fs";
import { truncate } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { chooseFiles, type RepositoryFile } from "../../../inference/models/library/choose-files.ts";
import type { HubAccess } from "../../../inference/models/library/hub/access.ts";
import { fetchFile } from "../../../inference/models/library/hub/fetch-file.ts";
import { Hub, type Repository } from "../../../inference/models/library/hub/hub.ts";
import { findGgufFile } from "../../../inference/models/library/added-model.ts";
import { isModelPath } from "../../../inference/models/library/model-path.ts";
import { addedOf } from "../../../inference/models/registry/base-models.ts";
import { parseRepositoryName } from "../../../inference/models/library/repository-name.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { addedBases } from "../library/added-models.ts";

export interface DescribedModel {
  readonly name: string;
  /** Folder with the model's config.json. */
  readonly folder: string;
  /** True if the folder lists every tensor with its type; false if only the configuration was downloaded. */
  readonly hasTensors: boolean;
  /** Size in bytes of the files that a download would take; 0 if they are on this machine. */
  readonly downloadBytes: number;
}

export interface DescribeOptions {
  /** The data folder with the added models. */
  readonly data: string;
  /** Folder for downloaded descriptions, which the caller deletes. */
  readonly scratch: string;
  readonly hub: Pick<HubAccess, "endpoint" | "token">;
}

/**
 * Finds a model.
 *
 * @param named a folder, a GGUF file, the name of an added model, or the name of a model on the hub
 * @throws ServiceError with the errors of `hone models add`, if there is no such model or it cannot be served
 */
export async function describeModel(
  named: string,
  { data, scratch, hub }: DescribeOptions,
): Promise<DescribedModel> {
  const added = addedOf(named, addedBases(data));
  const path = added?.path ?? (isModelPath(named) ? named : null);
  if (path === null) return describeHubModel(named, scratch, hub);
  const folder = path.endsWith(".gguf") ? ensureGgufFolder(path, scratch) : path;
  return {
    name: added?.name ?? basename(path),
    folder,
    hasTensors: added?.hasWeights ?? true,
    downloadBytes: 0,
  };
}

async function describeHubModel(
  named: string,
  scratch: string,
  access: DescribeOptions["hub"],
): Promise<DescribedModel> {
  const asked = parseRepositoryName(named);
  const hub = new Hub({ ...access, clock: systemClock, onPause: () => undefined });
  const repository = await hub.describe(asked);
  const { descriptions, weights } = chooseFiles(asked.repository, repository.files, asked.quantization);
  const downloadBytes = [...descriptions, ...weights].reduce((sum, { bytes }) => sum + bytes, 0);
  const found = { name: named, downloadBytes };
  if (descriptions.length === 0) {
    const folder = await describeGguf({ hub, repository, scratch }, weights);
    return { ...found, folder, hasTensors: true };
  }
  const small = descriptions.filter(({ path }) => /^(generation_)?config\.json$/.test(path));
  for (const file of small)
    await fetchFile(hub, { repository, file, folder: scratch, onBytes: () => undefined });
  return { ...found, folder: scratch, hasTensors: false };
}

interface Download {
  readonly hub: Hub;
  readonly repository: Repository;
  readonly scratch: string;
}

/**
 * Numbers of bytes to download from the beginning of a GGUF file. They are tried in turn until the download has the
 * whole header. Most of the header is the vocabulary.
 */
const headerSizes = [16, 64, 256].map((mebibytes) => mebibytes * 2 ** 20);

/**
 * Downloads the beginning of each GGUF file. The local file has the full size, but the part that is not downloaded
 * takes no disk space.
 */
async function describeGguf(download: Download, files: readonly RepositoryFile[]): Promise<string> {
  const { scratch } = download;
  const first = findGgufFile(files.map(({ path }) => ({ name: basename(path) })));
  let failure: unknown;
  for (const bytes of headerSizes) {
    for (const file of files) await fetchBeginning(download, file, bytes);
    try {
      return ensureGgufFolder(join(scratch, first ?? basename(files[0].path)), scratch);
    } catch (error) {
      failure = error;
      // If the model is unsupported, downloading more of the file would not help.
      if (error instanceof ServiceError && error.code === "unsupported") throw error;
    }
  }
  throw failure;
}

async function fetchBeginning(
  { hub, repository, scratch }: Download,
  file: RepositoryFile,
  bytes: number,
): Promise<void> {
  const path = join(scratch, basename(file.path));
  const { body } = await hub.open(repository, file, 0);
  await pipeline(beginningOf(body, bytes), createWriteStream(path));
  await truncate(path, file.bytes);
}

async function* beginningOf(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const part of body) {
    yield part.subarray(0, left);
    left -= part.length;
    if (left <= 0) return;
  }
}
