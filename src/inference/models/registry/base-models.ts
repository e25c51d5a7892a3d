// Determines which base models a server has: the built-in model, the folders, files and vLLM servers that the operator
// named, and the models that were added to the data folder.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { requirePlainFiles } from "../../../store/artifacts/plain-files.ts";
import type { BaseModel, Quantization } from "../../../base/domain/model.ts";
import { invalid, type ServiceError } from "../../../base/domain/service-error.ts";
import { baseInFolder, type NamedBase } from "./named-base.ts";
import { isVllmSpec, joinServerUrls, parseVllmSpec } from "./vllm-spec.ts";

/** A base model that was added to the data folder. */
export interface AddedBase {
  readonly name: string;
  /** Path of the model's folder or GGUF file. */
  readonly path: string;
  /** Origin of the model, such as `owner/name:Q4_1`. In `named`, the operator may also use it as the model's name. */
  readonly source: string;
  readonly license: string | null;
  /** False if the model's weights are not on this machine, because vLLM servers compute it. */
  readonly hasWeights: boolean;
}

/** Choice of base models, from the operator's settings. */
export interface BaseModelChoice {
  /**
   * Each entry is one of: `path` or `name=path` of a model folder or a GGUF file (the name defaults to that of the
   * folder or file); the name of an `added` model; `name=vllm+url`.
   */
  readonly named: readonly string[];
  /** Name of the default model; null for the first of `named` or, if `named` is empty, the built-in model. */
  readonly defaultModel: string | null;
  /** Models in the data folder. If `named` is empty, all of them that have weights are served. */
  readonly added: readonly AddedBase[];
  /** Returns the folder of the model in a GGUF file, after extracting the model if necessary. */
  readonly folderOfFile: (file: string) => string;
  /** Quantization of the weights of all base models that Hone itself computes. */
  readonly quantization: Quantization;
}

/**
 * Returns the base models in the order in which they are listed, the default model first. A model whose files are
 * missing or broken is included with its fault, so that other models can still be served.
 *
 * @param builtIn the built-in model; null if it is not to be served
 * @throws ServiceError `invalid` for a bad name, a name given twice, an unknown default, or if there would be no model
 */
export function listBaseModels(
  { named, defaultModel, added, folderOfFile, quantization }: BaseModelChoice,
  builtIn: BaseModel | null,
): readonly [NamedBase, ...NamedBase[]] {
  const own = (base: NamedBase): NamedBase =>
    base.engine.kind === "embedded" ? { ...base, engine: { ...base.engine, quantization } } : base;
  const folderOfAdded = (name: string): string | null => {
    const found = added.find((one) => one.name === name);
    return found === undefined ? null : folderAt(found.path, folderOfFile);
  };
  const models = [
    ...joinServerUrls(named).map((text) => {
      if (isVllmSpec(text)) return parseVllmSpec(text, folderOfAdded);
      const one = addedOf(text, added);
      return own(one === null ? parseNamed(text, folderOfFile) : baseOf(one, folderOfFile));
    }),
    ...(builtIn === null ? [] : [builtIn]),
    ...(named.length > 0 ? [] : added.filter(({ hasWeights }) => hasWeights)).map((one) =>
      own(baseOf(one, folderOfFile)),
    ),
  ];
  if (models.length === 0)
    throw invalid(
      "There is no base model to serve; name one with --model, add one with `hone models add`, or leave the built-in one on.",
    );
  const names = models.map((model) => model.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw invalid(`Two base models are called ${twice}; name one with --model name=folder.`);
  const first = models.find((model) => model.name === (defaultModel ?? names[0]));
  if (first === undefined)
    throw invalid(
      `The default model is ${defaultModel}, but the base models are ${names.join(", ")}. Name one of these with --default-model, or serve ${defaultModel} too: --model names its folder or file, \`hone models add\` adds it.`,
    );
  return [first, ...models.filter((model) => model !== first)];
}

/**
 * Returns the added model that a text names, or null if it names none. If the text is also an existing path, the path
 * takes precedence.
 */
export function addedOf(text: string, added: readonly AddedBase[]): AddedBase | null {
  if (existsSync(text)) return null;
  // Names on the hub are case-insensitive.
  const isSource = (source: string): boolean => source.toLowerCase() === text.toLowerCase();
  return added.find(({ name, source }) => text === name || isSource(source)) ?? null;
}

const embedded = { kind: "embedded" } as const;

function baseOf(
  { name, path, license, hasWeights }: AddedBase,
  folderOfFile: BaseModelChoice["folderOfFile"],
): NamedBase {
  const base = baseInFolder({ name, engine: embedded }, path, () => {
    if (!hasWeights) throw withoutWeights(name);
    return folderAt(path, folderOfFile);
  });
  return { ...base, license };
}

/** Matches the end of a GGUF file's name: the part number if the file is split, and the extension. */
const fileEnding = /(?:-\d{5}-of-\d{5})?\.gguf$/i;

function parseNamed(text: string, folderOfFile: BaseModelChoice["folderOfFile"]): NamedBase {
  const split = text.indexOf("=");
  const given = text.slice(split + 1);
  const isOfHub = hubName.test(given) && !fileEnding.test(given) && !existsSync(given);
  const path = resolve(given);
  const ownName = isOfHub ? basename(given.replace(/[:@].*$/, "")) : basename(path).replace(fileEnding, "");
  const name = split < 0 ? ownName : text.slice(0, split);
  if (!/^[\w.-]{1,128}$/.test(name))
    throw invalid(
      `${JSON.stringify(name)} is no name for a base model: letters, digits, "_", "-" and "." only, up to 128.`,
    );
  return baseInFolder({ name, engine: embedded }, path, () => {
    if (isOfHub) throw notAdded(given, split < 0 ? null : name);
    return folderAt(path, folderOfFile);
  });
}

/**
 * Returns the folder of the model at a path.
 *
 * @throws ServiceError for a path without a model, and as `folderOfFile`
 */
function folderAt(path: string, folderOfFile: BaseModelChoice["folderOfFile"]): string {
  const isFile = fileEnding.test(path);
  const folder = isFile ? folderOfFile(path) : path;
  if (!existsSync(join(folder, "config.json")))
    throw invalid(`${folder} is not a model: it is neither a folder with a config.json nor a GGUF file.`);
  requirePlainFiles(folder);
  return folder;
}

/** Matches a name on the hub: `owner/name`, optionally with a quantization and a revision. */
const hubName = /^[\w.-]*\w\/[\w.-]+(:[\w.-]+)?(@[\w./-]+)?$/;

function withoutWeights(name: string): ServiceError {
  return invalid(
    `${name} was added without its weights, so vLLM servers must compute it: name them with --model ${name}=vllm+http://host:8000. To serve it here, remove it (\`hone models remove ${name}\`) and add it again.`,
  );
}

function notAdded(text: string, name: string | null): ServiceError {
  const command = `hone models add ${text}${name === null ? "" : ` --name ${name}`}`;
  return invalid(
    `There is no folder ${text} here. To serve the model of that name on the Hugging Face hub, add it first: \`${command}\`.`,
  );
}
