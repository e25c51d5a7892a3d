// Where a model folder has its weights: safetensors, in one file or in shards, or a GGUF file that the folder names.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ggufFilesOf, isDerivedFromGguf, readGgufTensors } from "./gguf/gguf-model.ts";
import { readSafetensorsFolder, safetensorsFilesIn } from "./safetensors.ts";
import type { StoredTensor } from "./stored-tensor.ts";

/**
 * All tensors of the model in a folder, under the names of the Hugging Face layout. Of a model that also takes images, only
 * those of its text model, as that would name them.
 *
 * @throws ServiceError `not_found` when it has no weights; `invalid` or `unsupported` naming the file and the fault
 */
export function readStoredTensors(folder: string): ReadonlyMap<string, StoredTensor> {
  return isDerivedFromGguf(folder) ? readGgufTensors(folder) : ofTextModel(readSafetensorsFolder(folder));
}

/** Prefixes of a text model's tensor names inside another model, as older and newer programs write them. */
const textPrefixes: readonly (readonly [RegExp, string])[] = [
  [/^language_model\.(?=model\.|lm_head\.)/, ""],
  [/^model\.language_model\./, "model."],
];
const imageTensors = /^(model\.)?(vision_tower|multi_modal_projector)\./;

function ofTextModel(tensors: ReadonlyMap<string, StoredTensor>): ReadonlyMap<string, StoredTensor> {
  if (![...tensors.keys()].some((name) => textPrefixes.some(([prefix]) => prefix.test(name)))) return tensors;
  const named = [...tensors.values()].flatMap((tensor) => {
    if (imageTensors.test(tensor.name)) return [];
    const name = textPrefixes.reduce((left, [prefix, own]) => left.replace(prefix, own), tensor.name);
    return [[name, { ...tensor, name }] as const];
  });
  return new Map(named);
}

/**
 * The files that hold a model's weights, in their order.
 *
 * @throws ServiceError for an index that cannot be read
 */
export function weightFilesOf(folder: string): readonly string[] {
  return ggufFilesOf(folder) ?? safetensorsFilesIn(folder).map((name) => join(folder, name));
}

/** Whether all of them are there: of a model that others compute the small files may be alone. */
export function hasWeights(folder: string): boolean {
  return weightFilesOf(folder).every((file) => existsSync(file));
}
