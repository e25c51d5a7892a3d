// Finds the weights of a model folder: safetensors, in one file or in shards, or a GGUF file that the folder points
// to.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ggufFilesOf, isDerivedFromGguf, readGgufTensors } from "./gguf/gguf-model.ts";
import { readSafetensorsFolder, safetensorsFilesIn } from "./safetensors.ts";
import type { StoredTensor } from "./stored-tensor.ts";

/**
 * Returns all tensors of the model in a folder, under their Hugging Face names. For a multimodal model, returns only
 * the tensors of its text model, under the text model's names.
 *
 * @throws ServiceError `not_found` if the folder has no weights; `invalid` or `unsupported` naming the file and the
 * fault
 */
export function readStoredTensors(folder: string): ReadonlyMap<string, StoredTensor> {
  return isDerivedFromGguf(folder) ? readGgufTensors(folder) : ofTextModel(readSafetensorsFolder(folder));
}

/**
 * Prefixes of tensor names, each with its replacement. In multimodal models, the names of the text model's tensors have
 * additional prefixes, which differ between older and newer programs. Nemotron-H's files also have other prefixes.
 */
const textPrefixes: readonly (readonly [RegExp, string])[] = [
  [/^language_model\.(?=model\.|lm_head\.)/, ""],
  [/^model\.language_model\./, "model."],
  [/^(?:backbone|model)\.embeddings\./, "model.embed_tokens."],
  [/^backbone\./, "model."],
];
const otherTensors =
  /^(model\.)?(vision_tower|multi_modal_projector|visual|audio_tower|embed_vision|embed_audio)\./;

function ofTextModel(tensors: ReadonlyMap<string, StoredTensor>): ReadonlyMap<string, StoredTensor> {
  if (![...tensors.keys()].some((name) => textPrefixes.some(([prefix]) => prefix.test(name)))) return tensors;
  const named = [...tensors.values()].flatMap((tensor) => {
    if (otherTensors.test(tensor.name)) return [];
    const name = textPrefixes.reduce((left, [prefix, own]) => left.replace(prefix, own), tensor.name);
    return [[name, { ...tensor, name }] as const];
  });
  return new Map(named);
}

/**
 * Returns the files that hold a model's weights, in their order.
 *
 * @throws ServiceError for an index that cannot be read
 */
export function weightFilesOf(folder: string): readonly string[] {
  return ggufFilesOf(folder) ?? safetensorsFilesIn(folder).map((name) => join(folder, name));
}

/** True if all weight files exist. A folder may hold only the small files if another server computes the model. */
export function hasWeights(folder: string): boolean {
  return weightFilesOf(folder).every((file) => existsSync(file));
}
