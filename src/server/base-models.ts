// Which base models this server has: the built-in one, and the folders that the operator named.
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BaseModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";

/** The package's own folder: the one that holds package.json, above the sources and above the build. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

export const builtInModelName = "hone-tiny";

/**
 * The base models in the order in which they are listed, the default first.
 *
 * @param named `folder` or `name=folder`, as the operator gave them; a folder's own name is its default name
 * @throws ServiceError `invalid` for a folder that is none, a name given twice, or an unknown default
 */
export function listBaseModels(named: readonly string[], defaultModel: string | null): readonly BaseModel[] {
  const models = [
    ...named.map(parseNamed),
    { name: builtInModelName, folder: join(packageFolder(), "models", builtInModelName) },
  ];
  const names = models.map((model) => model.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw invalid(`Two base models are called ${twice}; name one with --model name=folder.`);
  const first = models.find((model) => model.name === (defaultModel ?? names[0]));
  if (first === undefined)
    throw invalid(`The default model is ${defaultModel}, but the base models are ${names.join(", ")}.`);
  return [first, ...models.filter((model) => model !== first)];
}

function parseNamed(text: string): BaseModel {
  const split = text.indexOf("=");
  const folder = resolve(split < 0 ? text : text.slice(split + 1));
  const name = split < 0 ? basename(folder) : text.slice(0, split);
  if (!/^[\w.-]{1,128}$/.test(name))
    throw invalid(
      `${JSON.stringify(name)} is no name for a base model: letters, digits, "_", "-" and "." only, up to 128.`,
    );
  if (!existsSync(join(folder, "config.json")))
    throw invalid(`${folder} is not a model folder: it has no config.json.`);
  return { name, folder };
}

function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}

/** The version of this package. */
export function packageVersion(): string {
  // The file is this package's own.
  return (
    JSON.parse(readFileSync(join(packageFolder(), "package.json"), "utf8")) as { readonly version: string }
  ).version;
}
