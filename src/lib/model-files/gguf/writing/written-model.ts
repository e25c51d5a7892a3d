// Describes a model in a Hugging Face folder as a GGUF file: its metadata and its tensors, as llama.cpp's converter
// writes them. Does not read any weights.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { StoredTensor } from "../../stored-tensor.ts";
import { ggufArchitectureOf, ggufConfig } from "../gguf-architecture.ts";
import { beginsByDefault, type NamedPreTokenizer, wholeTokenizerKey } from "../gguf-tokenizer.ts";
import { GgufMetadata } from "../metadata.ts";
import { rotaryTensors } from "./rotary-tensors.ts";
import { specialTokenKeys } from "./special-tokens.ts";
import { plainValues, type TypedMetadata, type TypedValue } from "../type-numbers.ts";
import { blockVersion, fileTypeOf, generalKeys, sizeLabelOf } from "./written-general.ts";
import { type ConfigFields, writtenKeys } from "./written-keys.ts";
import { type PlannedTensor, plannedTensors } from "./written-tensors.ts";
import { blankKey, isSentencePiece, writtenSentencePiece } from "./written-sentence-piece.ts";
import { writtenByteLevel } from "./written-tokenizer.ts";
import { type ChosenType, type EncodedType, writtenTypeOf } from "./written-types.ts";

/** Parsed files of a model folder. */
export interface FolderModel {
  /** Class of the text model. */
  readonly className: string;
  /** Content of config.json; for a model with several parts, with the fields of its text model. */
  readonly config: ConfigFields;
  readonly generation: ConfigFields;
  readonly tokenizer: ConfigFields;
  /** Content of tokenizer_config.json, together with chat templates from separate files. */
  readonly tokenizerConfig: ConfigFields;
  readonly preTokenizer: NamedPreTokenizer;
  /** Tensors that the model computes with, by their names in the Hugging Face layout. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

export interface WrittenTensor extends PlannedTensor {
  readonly type: EncodedType;
}

export interface WrittenModel {
  readonly metadata: TypedMetadata;
  readonly tensors: readonly WrittenTensor[];
  /** Content of config.json that a reader derives from the file, without the rotary factors that tensors hold. */
  readonly readBack: ConfigFields;
}

/**
 * Describes the file.
 *
 * @throws ServiceError `unsupported` naming a model class, a tokenizer or a tensor that is not written
 */
export function writtenModel(
  model: FolderModel,
  { name, chosen }: { readonly name: string; readonly chosen: ChosenType },
): WrittenModel {
  const architecture = ggufArchitectureOf(model.className);
  const keys = architecture === null ? null : writtenKeys(model.config, architecture, fileTypeOf(chosen));
  if (architecture === null || keys === null) throw notWritten(model.className);
  const described = new Map<string, TypedValue>([
    ["general.architecture", { type: "text", value: architecture }],
    ...keys,
    ["general.quantization_version", blockVersion],
    ...tokenizerKeys(model),
  ]);
  const factors = rotaryTensors(model.config);
  const planned = [...factors, ...plannedTensors(model.tensors, { metadata: described, architecture })];
  const isTied = !planned.some((tensor) => tensor.name === "output.weight");
  const tensors = planned.map((tensor) => ({ ...tensor, type: writtenTypeOf(tensor, { chosen, isTied }) }));
  const general = { architecture, name, generation: model.generation, sizeLabel: sizeLabelOf(tensors) };
  // The converter writes the key `attn_factor` with the tensors to which the factor belongs, before all other keys.
  const first = [...described].filter(([key]) => /^general\.architecture$|\.attn_factor$/.test(key));
  const metadata = new Map([...first, ...generalKeys(general), ...described]);
  const readBack = readBackOf(metadata, tensors.slice(factors.length));
  return chosen === "Q4_0"
    ? { ...quantizerOrder(metadata, tensors), readBack }
    : { metadata, tensors, readBack };
}

/** Returns keys and tensors in the order of llama.cpp's quantizer, which writes files in Q4_0. */
function quantizerOrder(
  metadata: TypedMetadata,
  tensors: readonly WrittenTensor[],
): Pick<WrittenModel, "metadata" | "tensors"> {
  const last = ["general.quantization_version", "general.file_type"];
  const layerOf = ({ name }: WrittenTensor): number => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);
  return {
    metadata: new Map([...metadata].toSorted(([one], [other]) => last.indexOf(one) - last.indexOf(other))),
    tensors: tensors.toSorted(
      (one, other) => layerOf(one) - layerOf(other) || (one.name < other.name ? -1 : 1),
    ),
  };
}

function readBackOf(metadata: TypedMetadata, tensors: readonly WrittenTensor[]): ConfigFields {
  const values = plainValues(metadata);
  const stored = tensors.map(
    ({ name, shape, type }) => [name, { name, shape, type, file: "", offset: 0, byteLength: 0 }] as const,
  );
  const file = { metadata: values, valueTypes: new Map(), tensors: new Map(stored) };
  return ggufConfig(file, new GgufMetadata("the exported file", values));
}

/** Returns the keys of the tokenizer. */
export function tokenizerKeys(model: Omit<FolderModel, "generation" | "tensors">): TypedMetadata {
  const { tokenizer, tokenizerConfig, config, preTokenizer, className } = model;
  const vocabularySize = Number(config["vocab_size"]);
  const source = { tokenizer, vocabularySize, preTokenizer: preTokenizer.name };
  const special = { tokenizer, tokenizerConfig, config, vocabularySize };
  const pieces = { tokenizer, tokenizerConfig, vocabularySize, className };
  const keys = isSentencePiece(tokenizer)
    ? new Map([...writtenSentencePiece(pieces), ...specialTokenKeys(special), ...blankKey(pieces, "after")])
    : new Map([...writtenByteLevel(source), ...specialTokenKeys(special)]);
  const beginKey = "tokenizer.ggml.add_bos_token";
  if (!preTokenizer.isExact) {
    if (beginsByDefault(preTokenizer.name) && !keys.has(beginKey))
      keys.set(beginKey, { type: "flag", value: false });
    keys.set(wholeTokenizerKey, { type: "text", value: JSON.stringify(tokenizer) });
  }
  // The converter writes this key for the vocabulary of SmolLM, because no special token begins its texts.
  if (model.className === "LlamaForCausalLM" && vocabularySize === 49_152)
    keys.set(beginKey, { type: "flag", value: false });
  return keys;
}

function notWritten(className: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `Models of the class ${className} are not exported as GGUF files from a folder. Export the version in the format merged, and convert the folder with llama.cpp's convert_hf_to_gguf.py.`,
  });
}
