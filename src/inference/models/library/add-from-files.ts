// Adds a model from this machine: a GGUF file (with all its parts if it is split), or a folder in the Hugging Face
// layout. If the file system allows it, the added files share disk space with the originals, as clones or hard links;
// otherwise they are copied.
import { constants, existsSync, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { copyFile, link, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { requirePlainFiles } from "../../../store/artifacts/plain-files.ts";
import { present } from "../../../base/domain/assert.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { requirePlainFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { ggufParts } from "../../../lib/model-files/gguf/gguf-file.ts";
import { ggufFilesOf } from "../../../lib/model-files/gguf/gguf-model.ts";
import { safetensorsFilesIn } from "../../../lib/model-files/safetensors.ts";
import { isPlainName, type AddedModel } from "./added-model.ts";
import type { AddOptions } from "./add-from-hub.ts";
import { checkDescriptions, checkFolder, checkGguf } from "./check-model.ts";
import { isDescription, isAuxiliaryGguf, onlyWithWeights, refused } from "./choose-files.ts";
import { requireDiskRoom } from "./disk-room.ts";
import { readFolderLicense, readGgufLicense } from "./licenses.ts";
import { checkModelName, type ModelLibrary } from "./model-library.ts";

/**
 * Adds the model in a file or a folder.
 *
 * @throws ServiceError `invalid` or `unsupported` naming the unsupported part; `conflict` if the name is taken
 */
export async function addFromFiles(
  library: ModelLibrary,
  path: string,
  { name: wantedName, reserved, withoutWeights, report }: AddOptions,
): Promise<AddedModel> {
  const found = findModel(resolve(path), withoutWeights);
  const name = wantedName ?? found.name;
  checkModelName(name, reserved);
  const source = { kind: "file", path: resolve(path), ...(withoutWeights && { withoutWeights }) } as const;
  return library.add(name, source, async (folder) => {
    await takeFiles(found.files, folder);
    report({ kind: "check" });
    const [first] = found.files;
    const gguf = found.isGguf ? join(folder, basename(first)) : null;
    if (gguf !== null) await checkGguf(gguf, folder);
    else await (withoutWeights ? checkDescriptions(folder, { isForVllm: true }) : checkFolder(folder));
    return {
      license: gguf === null ? readFolderLicense(dirname(first)) : readGgufLicense(gguf),
      files: found.files.map((file) => ({
        name: basename(file),
        bytes: statSync(file).size,
        checksum: null,
      })),
    };
  });
}

interface FoundModel {
  /** Default name of the added model. */
  readonly name: string;
  readonly isGguf: boolean;
  /** Paths of the model's files. Weight files are in the order of their part numbers. */
  readonly files: readonly [string, ...string[]];
}

const ggufEnd = /(?:-\d{5}-of-\d{5})?\.gguf$/i;

function findModel(path: string, withoutWeights: boolean): FoundModel {
  const status = statSync(path);
  if (status.isDirectory()) requirePlainFiles(path);
  else requirePlainFile(path, status);
  const names = status.isDirectory() ? readdirSync(path).filter(isPlainName) : [];
  if (withoutWeights && !names.includes("config.json"))
    throw refused(path, `${onlyWithWeights}; name the folder that it was made from`);
  if (!status.isDirectory()) {
    if (ggufEnd.test(path)) return ggufModel(path);
    throw refused(path, "is neither a GGUF file nor a folder; name the file or the folder of a model");
  }
  if (!names.includes("config.json")) return onlyGguf(path, names);
  if (ggufFilesOf(path) !== null) throw refused(path, "was made from a GGUF file; add that file");
  const hasIndex = names.includes("model.safetensors.index.json") && !names.includes("model.safetensors");
  const descriptions = names.filter(isDescription);
  const index = hasIndex ? ["model.safetensors.index.json"] : [];
  const weights = withoutWeights ? [] : [...safetensorsFilesIn(path), ...index];
  const missing = weights.find((name) => !names.includes(name));
  if (missing !== undefined) throw refused(path, `has no ${missing}; ${safetensorsOnly}`);
  const [first, ...rest] = [...descriptions, ...weights].map((name) => ownFile(path, name));
  return { name: folderName(path), isGguf: false, files: [present(first, "config.json is there"), ...rest] };
}

const safetensorsOnly =
  "weights in other formats have to be converted first (in Python: AutoModelForCausalLM.from_pretrained(...).save_pretrained(folder))";

function ggufModel(path: string): FoundModel {
  const parts = ggufParts(path);
  const missing = parts.find((part) => !existsSync(part));
  if (missing !== undefined)
    throw refused(path, `is one of ${parts.length} parts, and ${missing} is missing`);
  for (const part of parts) requirePlainFile(part, statSync(part));
  const [first, ...rest] = parts;
  return {
    name: basename(path).replace(ggufEnd, ""),
    isGguf: true,
    files: [present(first, "a part"), ...rest],
  };
}

function onlyGguf(path: string, names: readonly string[]): FoundModel {
  const ofGguf = names.filter((name) => ggufEnd.test(name)).toSorted();
  const ofModels = ofGguf.filter((name) => !isAuxiliaryGguf(name));
  // If the only GGUF files are image projectors, they are used as if they were the model. The GGUF reader then refuses
  // them by name.
  const files = ofModels.length === 0 ? ofGguf : ofModels;
  const models = new Map(files.map((name) => [name.replace(ggufEnd, ""), name]));
  const [only] = models.values();
  if (models.size === 1 && only !== undefined) return ggufModel(join(path, only));
  if (models.size > 1)
    throw refused(path, `holds several GGUF models; name one of ${[...models.values()].join(", ")}`);
  throw refused(path, "has neither a config.json nor a GGUF file; name the folder of a model");
}

/**
 * Returns the path of a file in the folder. Refuses symbolic links, because they could bring in files from elsewhere.
 * Links in the cache of the hub's own programs are allowed: the files that they point to are next to the cache's
 * snapshots.
 */
function ownFile(folder: string, name: string): string {
  const file = join(folder, name);
  if (!lstatSync(file).isSymbolicLink()) return file;
  const blobs = resolve(realpathSync(folder), "..", "..", "blobs");
  if (dirname(realpathSync(file)) === blobs) return file;
  throw refused(file, `is a link to ${realpathSync(file)}; put the file itself there`);
}

/**
 * Returns the default name for the model in a folder. In the cache of the hub's own programs, folders are named by
 * commits, so the repository's name is taken from the path above them.
 */
function folderName(path: string): string {
  return /[/\\]models--[^/\\]+--([^/\\]+)[/\\]snapshots[/\\][^/\\]+$/.exec(path)?.[1] ?? basename(path);
}

async function takeFiles(files: readonly string[], folder: string): Promise<void> {
  try {
    for (const [index, file] of files.entries()) {
      const [from, to] = [realpathSync(file), join(folder, basename(file))];
      await rm(to, { force: true });
      if (await isShared(from, to)) continue;
      const left = files.slice(index).reduce((sum, one) => sum + statSync(one).size, 0);
      await requireDiskRoom(folder, left);
      await copyFile(from, to);
    }
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

/**
 * Shares a file without using extra space: as a clone if the file system supports it, else as a hard link. Returns
 * false if neither is possible.
 */
async function isShared(from: string, to: string): Promise<boolean> {
  const isDone = (work: Promise<void>): Promise<boolean> =>
    work.then(
      () => true,
      () => false,
    );
  if (await isDone(copyFile(from, to, constants.COPYFILE_FICLONE_FORCE))) return true;
  await rm(to, { force: true });
  return isDone(link(from, to));
}
