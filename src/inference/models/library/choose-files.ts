// Selects the files of a repository that make up a model: configuration, tokenizer, chat template, and either
// safetensors or one GGUF model. Never selects a file in a format that can run code when it is loaded, or a path
// outside the repository's folder.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isPlainName } from "./added-model.ts";

/** A file as the hub lists it. */
export interface RepositoryFile {
  /** Path in the repository, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly checksum: Checksum;
}

/** Checksum that the hub gives for a file: the hex SHA-256 of its content, or the SHA-1 of its git blob. */
export interface Checksum {
  readonly kind: "sha256" | "git-blob";
  readonly digest: string;
}

export interface ChosenFiles {
  /** Files that describe the model, which are read before the weights are fetched. */
  readonly descriptions: readonly RepositoryFile[];
  readonly weights: readonly RepositoryFile[];
  /** Quantization of the GGUF model; null for safetensors, or if the name of the GGUF file does not contain it. */
  readonly quantization: string | null;
}

const descriptionNames =
  /^(config|generation_config|tokenizer\w*|special_tokens_map)\.json$|^chat_template\.(jinja|json)$/;
/** True if a file describes a model and holds none of its weights. */
export function isDescription(name: string): boolean {
  return descriptionNames.test(name);
}

const indexName = "model.safetensors.index.json";
/** Maximum size of a descriptive file in bytes. The largest vocabularies take about 35 MB. */
const descriptionBytesMax = 256 * 1024 * 1024;
const weightFilesMax = 1000;
const weightBytesMax = 2 ** 41;

/**
 * Selects the files of the model with the quantization `wanted`. If `wanted` is null, selects the repository's
 * safetensors or, without these, its only GGUF model.
 *
 * @param repository name of the repository, for messages
 * @throws ServiceError `unsupported` if no model can be served; the message names the choices or the cure
 */
export function chooseFiles(
  repository: string,
  files: readonly RepositoryFile[],
  wanted: string | null,
): ChosenFiles {
  const ownFiles = files.filter(({ path }) => isPlainName(path));
  const names = new Set(ownFiles.map(({ path }) => path));
  if (wanted === null && names.has("adapter_config.json") && !names.has("config.json"))
    throw refused(
      repository,
      "holds an adapter and no model; add its base model, and bring the adapter in with `hone models import`",
    );
  const safetensors = ownFiles.filter(({ path }) => isSafetensors(path, names));
  if (wanted === null && safetensors.length > 0) {
    const descriptions = ownFiles.filter(({ path }) => isDescription(path) || isIndex(path, names));
    return withinLimits(repository, { descriptions, weights: safetensors, quantization: null });
  }
  const models = ggufModels(files);
  if (models.size === 0) throw withoutWeights(repository, names, wanted);
  const { kind, isNamed, files: weights } = chooseGguf(repository, models, wanted);
  return withinLimits(repository, { descriptions: [], weights, quantization: isNamed ? kind : null });
}

/**
 * Selects only the files that describe a model, because its weights are on vLLM servers.
 *
 * @throws ServiceError `unsupported` if only a GGUF file describes the model
 */
export function chooseDescriptions(
  repository: string,
  files: readonly RepositoryFile[],
  wanted: string | null,
): ChosenFiles {
  const descriptions = files.filter(({ path }) => isPlainName(path) && isDescription(path));
  if (wanted !== null || !descriptions.some(({ path }) => path === "config.json"))
    throw refused(repository, `${onlyWithWeights}; name the repository that it was made from`);
  return withinLimits(repository, { descriptions, weights: [], quantization: null });
}

/** Clause of an error message, for a model that only a GGUF file describes. */
export const onlyWithWeights =
  "has no config.json and tokenizer.json next to its GGUF file, so it cannot be added without its weights";

/** True for the repository's only weight file, or for a part of the weights if the repository has an index of parts. */
function isSafetensors(path: string, names: ReadonlySet<string>): boolean {
  if (names.has("model.safetensors")) return path === "model.safetensors";
  return isIndex(indexName, names) && /^model-\d{5}-of-\d{5}\.safetensors$/.test(path);
}

function isIndex(path: string, names: ReadonlySet<string>): boolean {
  return path === indexName && names.has(indexName) && !names.has("model.safetensors");
}

interface GgufModel {
  /**
   * Quantization in capitals, from the end of the file's name. If the name does not end in a quantization, this is the
   * whole name.
   */
  readonly kind: string;
  readonly isNamed: boolean;
  readonly files: readonly RepositoryFile[];
}

/** Matches GGUF paths such as `name-Q4_K_M-00001-of-00002.gguf`, at most one folder deep. */
const ggufName = /^(?:[\w.+-]+\/)?(?<stem>[A-Za-z0-9_][\w.+-]*?)(?<part>-\d{5}-of-(?<count>\d{5}))?\.gguf$/i;
const kindAtEnd = /(?:^|[._-])(?<kind>(?:UD-)?(?:I?Q\d\w*|TQ\d\w*|BF16|FP?16|FP?32|MXFP4(?:_\w+)?))$/i;

/**
 * Returns the repository's GGUF models by quantization. Leaves out image projectors and importance matrices, which are
 * GGUF files too.
 */
function ggufModels(files: readonly RepositoryFile[]): ReadonlyMap<string, GgufModel> {
  const models = new Map<string, GgufModel>();
  for (const file of files) {
    const { stem } = ggufName.exec(file.path)?.groups ?? {};
    if (stem === undefined || isAuxiliaryGguf(stem)) continue;
    const named = kindAtEnd.exec(stem)?.groups?.["kind"];
    const kind = (named ?? stem).toUpperCase();
    const before = models.get(kind)?.files ?? [];
    models.set(kind, { kind, isNamed: named !== undefined, files: [...before, file] });
  }
  return models;
}

/** True if the name of a GGUF file says that it is an image projector or an importance matrix. */
export function isAuxiliaryGguf(name: string): boolean {
  return /(^|[._-])(mmproj|imatrix)([._-]|$)/i.test(name);
}

function chooseGguf(
  repository: string,
  models: ReadonlyMap<string, GgufModel>,
  wanted: string | null,
): GgufModel {
  const choices = [...models.keys()].toSorted();
  const chosen = models.get(wanted?.toUpperCase() ?? (choices.length === 1 ? choices[0] : ""));
  if (chosen === undefined) {
    const fault = wanted === null ? "has several GGUF models" : `has no GGUF model of the kind ${wanted}`;
    throw refused(
      repository,
      `${fault}; name one of ${choices.join(", ")} after a colon: ${repository}:${choices[0]}`,
    );
  }
  const count = Number(ggufName.exec(chosen.files[0]?.path ?? "")?.groups?.["count"] ?? 1);
  if (chosen.files.length !== count)
    throw refused(
      repository,
      `has ${chosen.files.length} files of the kind ${chosen.kind}, and the first says that it is one of ${count}`,
    );
  return chosen;
}

function withoutWeights(repository: string, names: ReadonlySet<string>, wanted: string | null): ServiceError {
  if (wanted !== null)
    return refused(
      repository,
      `has no GGUF files, so there is no ${wanted} of it; those are usually in a separate repository whose name ends with -GGUF`,
    );
  const pickled = [...names].find((name) => /\.(bin|pt|pth|ckpt)$/.test(name));
  if (pickled !== undefined)
    return refused(
      repository,
      `has its weights as ${pickled}, a format that runs code when it is read; take a repository or a revision with safetensors, or convert it (in Python: AutoModelForCausalLM.from_pretrained(...).save_pretrained(folder)) and add the folder`,
    );
  return refused(repository, "has neither model.safetensors, nor shards with an index, nor GGUF files");
}

function withinLimits(repository: string, chosen: ChosenFiles): ChosenFiles {
  const { descriptions, weights } = chosen;
  const large = descriptions.find(({ bytes }) => bytes > descriptionBytesMax);
  if (large !== undefined)
    throw refused(
      repository,
      `has a ${large.path} of ${large.bytes} bytes; the maximum is ${descriptionBytesMax}`,
    );
  if (weights.length > weightFilesMax)
    throw refused(repository, `has its weights in ${weights.length} files; the maximum is ${weightFilesMax}`);
  const bytes = weights.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > weightBytesMax)
    throw refused(repository, `has ${bytes} bytes of weights; the maximum is ${weightBytesMax}`);
  return chosen;
}

/**
 * Returns the error for a repository or path.
 *
 * @param fault a clause whose subject is `source`
 */
export function refused(source: string, fault: string): ServiceError {
  return new ServiceError({ code: "unsupported", message: `${source} ${fault}.` });
}
