// Which base models a server has: the built-in one, and the folders and files that the operator named.
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { BaseModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";

/** What the operator said of base models. */
export interface BaseModelChoice {
  /** `path` or `name=path` of a model folder or a GGUF file; its own name is its default name. */
  readonly named: readonly string[];
  /** Null takes the first that was named, else the built-in one. */
  readonly defaultModel: string | null;
  /** The folder of the model in a GGUF file. */
  readonly folderOfFile: (file: string) => string;
}

/**
 * The base models in the order in which they are listed, the default first.
 *
 * @param builtIn null where it is not served
 * @throws ServiceError as `folderOfFile`; `invalid` for a path that is no model, a name given twice, an unknown default, or
 * no model at all
 */
export function listBaseModels(
  { named, defaultModel, folderOfFile }: BaseModelChoice,
  builtIn: BaseModel | null,
): readonly [BaseModel, ...BaseModel[]] {
  const models = [
    ...named.map((text) => parseNamed(text, folderOfFile)),
    ...(builtIn === null ? [] : [builtIn]),
  ];
  if (models.length === 0)
    throw invalid("There is no base model to serve; name one with --model, or leave the built-in one on.");
  const names = models.map((model) => model.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw invalid(`Two base models are called ${twice}; name one with --model name=folder.`);
  const first = models.find((model) => model.name === (defaultModel ?? names[0]));
  if (first === undefined)
    throw invalid(`The default model is ${defaultModel}, but the base models are ${names.join(", ")}.`);
  return [first, ...models.filter((model) => model !== first)];
}

/** What comes behind the name of a model in the name of its file: its kind, and which part of several it is. */
const fileEnding = /(?:-\d{5}-of-\d{5})?\.gguf$/i;

function parseNamed(text: string, folderOfFile: BaseModelChoice["folderOfFile"]): BaseModel {
  const split = text.indexOf("=");
  const path = resolve(split < 0 ? text : text.slice(split + 1));
  const name = split < 0 ? basename(path).replace(fileEnding, "") : text.slice(0, split);
  if (!/^[\w.-]{1,128}$/.test(name))
    throw invalid(
      `${JSON.stringify(name)} is no name for a base model: letters, digits, "_", "-" and "." only, up to 128.`,
    );
  const folder = fileEnding.test(path) ? folderOfFile(path) : path;
  if (!existsSync(join(folder, "config.json")))
    throw invalid(`${folder} is not a model: it is neither a folder with a config.json nor a GGUF file.`);
  return { name, folder, engine: { kind: "embedded" } };
}

function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}
