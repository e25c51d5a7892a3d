// Adds a model from the hub. First looks up the model, checks the disk space, and fetches and checks its descriptive
// files (such as configuration and tokenizer); only then fetches its weights.
import { join, basename } from "node:path";
import { findGgufFile, type AddedModel, type HubSource } from "./added-model.ts";
import { checkDescriptions, checkFolder, checkGguf } from "./check-model.ts";
import { chooseDescriptions, chooseFiles, type ChosenFiles, type RepositoryFile } from "./choose-files.ts";
import { requireDiskRoom } from "./disk-room.ts";
import { countFetchedBytes, fetchFile } from "./hub/fetch-file.ts";
import { Hub, type Repository } from "./hub/hub.ts";
import type { HubAccess, Pause } from "./hub/access.ts";
import { readGgufLicense } from "./licenses.ts";
import { checkModelName, type ModelLibrary } from "./model-library.ts";
import { parseRepositoryName, defaultModelName } from "./repository-name.ts";

/** Progress of adding a model. */
export type AddProgress =
  | {
      readonly kind: "begun";
      readonly name: string;
      readonly source: HubSource;
      readonly license: string | null;
      readonly fileCount: number;
      readonly bytes: number;
    }
  | { readonly kind: "bytes"; readonly file: string; readonly bytes: number; readonly bytesInAll: number }
  | ({ readonly kind: "pause" } & Pause)
  | { readonly kind: "check" };

export interface AddOptions {
  /** Name that the model will have on this server; null to derive it from the repository's name. */
  readonly name: string | null;
  /** Names that are taken by other models. */
  readonly reserved: readonly string[];
  /** True to fetch only the model's descriptive files, because vLLM servers compute the model. */
  readonly withoutWeights: boolean;
  readonly report: (progress: AddProgress) => void;
}

/**
 * Adds the model that `text` names. If the model was already added from the same commit, returns it unchanged.
 *
 * @throws ServiceError for a fault of the hub, the disk, the model or its name
 */
export async function addFromHub(
  library: ModelLibrary,
  text: string,
  { name: wantedName, reserved, withoutWeights, report, ...access }: AddOptions & Omit<HubAccess, "onPause">,
): Promise<AddedModel> {
  const asked = parseRepositoryName(text);
  if (wantedName !== null) checkModelName(wantedName, reserved);
  const hub = new Hub({ ...access, onPause: (pause) => report({ kind: "pause", ...pause }) });
  const repository = await hub.describe(asked);
  const chosen = withoutWeights
    ? chooseDescriptions(asked.repository, repository.files, asked.quantization)
    : chooseFiles(asked.repository, repository.files, asked.quantization);
  const { quantization } = chosen;
  const source: HubSource = {
    kind: "hub",
    endpoint: access.endpoint,
    repository: asked.repository,
    revision: asked.revision,
    commit: repository.commit,
    quantization,
    ...(withoutWeights && { withoutWeights }),
  };
  const name = wantedName ?? defaultModelName(asked, quantization);
  checkModelName(name, reserved);
  const there = library.find(name);
  if (there !== null && isSame(there, source)) return there;
  return library.add(name, source, (folder) =>
    collect(hub, { repository, chosen, folder, source, name, report }),
  );
}

/** True if the added model comes from the same commit, and has its weights if weights are requested. */
function isSame(
  { source }: AddedModel,
  { repository, commit, quantization, withoutWeights }: HubSource,
): boolean {
  return (
    source.kind === "hub" &&
    (withoutWeights === true || source.withoutWeights !== true) &&
    source.repository === repository &&
    source.commit === commit &&
    source.quantization === quantization
  );
}

interface Collection {
  readonly repository: Repository;
  readonly chosen: ChosenFiles;
  readonly folder: string;
  readonly source: HubSource;
  readonly name: string;
  readonly report: AddOptions["report"];
}

async function collect(hub: Hub, collection: Collection): Promise<Pick<AddedModel, "license" | "files">> {
  const { repository, chosen, folder, source, name, report } = collection;
  const { descriptions, weights } = chosen;
  const all = [...descriptions, ...weights];
  const bytesInAll = sumOf(all.map(({ bytes }) => bytes));
  const present = await Promise.all(all.map((file) => countFetchedBytes(folder, file)));
  await requireDiskRoom(folder, bytesInAll - sumOf(present));
  report({
    kind: "begun",
    name,
    source,
    license: repository.license,
    fileCount: all.length,
    bytes: bytesInAll,
  });
  let bytesBefore = 0;
  const take = async (file: RepositoryFile): Promise<void> => {
    const onBytes = (bytes: number): void =>
      report({ kind: "bytes", file: basename(file.path), bytes: bytesBefore + bytes, bytesInAll });
    await fetchFile(hub, { repository, file, folder, onBytes });
    bytesBefore += file.bytes;
  };
  for (const file of descriptions) await take(file);
  // The descriptive files are checked before the weights are fetched, so that an unsupported model costs no download of
  // gigabytes.
  if (descriptions.length > 0) await checkDescriptions(folder, { isForVllm: source.withoutWeights === true });
  for (const file of weights) await take(file);
  report({ kind: "check" });
  const gguf = findGgufFile(weights.map(({ path }) => ({ name: basename(path) })));
  if (gguf !== null) await checkGguf(join(folder, gguf), folder);
  else if (weights.length > 0) await checkFolder(folder);
  return {
    license: repository.license ?? (gguf === null ? null : readGgufLicense(join(folder, gguf))),
    files: all.map(({ path, bytes, checksum }) => ({
      name: basename(path),
      bytes,
      checksum: checksum.digest,
    })),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
