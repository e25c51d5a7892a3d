// Plans the export of a version as a GGUF file. For a base model in a folder, this is the file that llama.cpp's
// converter writes. For a base model in a GGUF file, the exported file has the metadata of that file, and copies of the
// tensors that no adapter changes.
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { present } from "../../../base/domain/assert.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { ggufTensors } from "../../../lib/model-files/gguf/gguf-architecture.ts";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";
import { ggufFilesOf } from "../../../lib/model-files/gguf/gguf-model.ts";
import { GgufMetadata } from "../../../lib/model-files/gguf/metadata.ts";
import type { TypedMetadata } from "../../../lib/model-files/gguf/type-numbers.ts";
import { blockVersion, fileTypeOf } from "../../../lib/model-files/gguf/writing/written-general.ts";
import { writtenModel, type WrittenModel } from "../../../lib/model-files/gguf/writing/written-model.ts";
import {
  type ChosenType,
  encodeValues,
  exactTypeOf,
  writtenTypeOf,
} from "../../../lib/model-files/gguf/writing/written-types.ts";
import { isPlainType, type StoredTensor, type StoredType } from "../../../lib/model-files/stored-tensor.ts";
import { parseModelConfig, readModelConfig } from "../../architectures/config/read-config.ts";
import { readFolderModel } from "./folder-model.ts";
import { fileOf } from "./gguf-parts.ts";
import type { PlannedFile } from "./row-parts.ts";
import { type FilePart, isWithin, type Merge, mergesOf, tensorParts } from "./row-parts.ts";

/** Name of the exported model file. */
export const modelFileName = "model.gguf";

export interface GgufPlanRequest {
  readonly baseFolder: string;
  /** Folder of the adapter to merge; null for the base itself. */
  readonly adapterFolder: string | null;
  /** Name of the model in the file's metadata. */
  readonly name: string;
  /** Type of the matrices; null to keep the types of the base model where the adapter allows it. */
  readonly chosen: ChosenType | null;
}

/**
 * Plans the file.
 *
 * @throws ServiceError `unsupported` naming the model class, setting or tensor that a GGUF file cannot describe
 */
export function planGguf(request: GgufPlanRequest): PlannedFile {
  const files = ggufFilesOf(request.baseFolder);
  return files === null ? planFromFolder(request) : planFromGguf(present(files[0], "a file"), request);
}

function planFromFolder({ baseFolder, adapterFolder, name, chosen }: GgufPlanRequest): PlannedFile {
  const model = readFolderModel(baseFolder);
  const type = chosen ?? usualTypeOf(model.tensors);
  const written = writtenModel(model, { name, chosen: type });
  requireSameModel(baseFolder, written);
  const merges =
    adapterFolder === null ? [] : mergesOf({ baseFolder, adapterFolder, tensors: model.tensors });
  const parts = written.tensors.map(({ sources, values, rearranged, type: own }) => {
    const rows = { type: own, ...(rearranged && { rearranged }) };
    if (sources !== null) return sources.flatMap((source) => tensorParts(source, rows, merges));
    return [{ kind: "made", bytes: encodeValues(Float32Array.from(values), own) } as const];
  });
  return fileOf(modelFileName, written.metadata, written.tensors, parts);
}

/** Returns the type of the first matrix. */
function usualTypeOf(tensors: ReadonlyMap<string, StoredTensor>): ChosenType {
  const first = [...tensors.values()].find(({ shape }) => shape.length > 1);
  return first === undefined ? "F32" : exactTypeOf(first.type);
}

/**
 * Compares the model with the one that a reader gets from the file.
 *
 * @throws ServiceError `unsupported` naming a setting that the file does not express
 */
function requireSameModel(baseFolder: string, { readBack, tensors }: WrittenModel): void {
  const own = readModelConfig(baseFolder);
  const read = parseModelConfig(readBack, { eos_token_id: own.endOfTextIds }, "the exported file");
  // Rotary factors are not compared: they are values of tensors, which are not written yet. The class may differ, because
  // Mistral's and Llama's compute the same. A GGUF file has only the text part of a multimodal model.
  const hasFactors = tensors.some(({ sources }) => sources === null);
  const differing = (Object.keys(own) as (keyof typeof own)[]).filter(
    (field) =>
      field !== "architecture" &&
      field !== "isTextPart" &&
      !(hasFactors && field === "rotaries") &&
      !isDeepStrictEqual(own[field], read[field]),
  );
  if (differing.length === 0) return;
  throw new ServiceError({
    code: "unsupported",
    message: `A GGUF file cannot express these settings of the model: ${differing.join(", ")}. Export the version in the format merged.`,
  });
}

function planFromGguf(
  file: string,
  { baseFolder, adapterFolder, name, chosen }: GgufPlanRequest,
): PlannedFile {
  const whole = readGguf(file);
  const named = ggufTensors(whole, new GgufMetadata(basename(file), whole.metadata));
  const merges = adapterFolder === null ? [] : mergesOf({ baseFolder, adapterFolder, tensors: named });
  const views = new Map([...named.values()].map((tensor) => [placeOf(tensor), tensor]));
  const isTied = !whole.tensors.has("output.weight");
  const tensors = [...whole.tensors.values()].map((stored) => {
    const view = views.get(placeOf(stored)) ?? stored;
    const type = chosen === null ? keptType(view, merges) : writtenTypeOf(stored, { chosen, isTied });
    return { name: stored.name, shape: stored.shape, type, view };
  });
  const parts = tensors.map(({ type, view }): readonly FilePart[] => {
    const { rearranged } = view;
    // Tensors of types that Hone cannot write are only copied.
    return tensorParts(
      view,
      { type: type as ReturnType<typeof writtenTypeOf>, ...(rearranged && { rearranged }) },
      merges,
    );
  });
  return fileOf(modelFileName, metadataOf(whole, { name, chosen }), tensors, parts);
}

function placeOf({ file, offset }: StoredTensor): string {
  return `${offset} ${file}`;
}

/**
 * Returns the type of a tensor if the request chooses none: the tensor's own type, or float16 if the adapter changes
 * quantized weights.
 */
function keptType(tensor: StoredTensor, merges: readonly Merge[]): StoredType {
  return isPlainType(tensor.type) || !merges.some(isWithin(tensor)) ? tensor.type : "F16";
}

/**
 * Matches metadata keys that describe the parts of a split file, or how its weights were quantized. The export drops
 * them.
 */
const droppedKeys = /^split\.|^quantize\./;

function metadataOf(
  { metadata, valueTypes }: ReturnType<typeof readGguf>,
  { name, chosen }: Pick<GgufPlanRequest, "name" | "chosen">,
): TypedMetadata {
  const kept = [...metadata].filter(([key]) => !droppedKeys.test(key));
  const typed = kept.map(
    ([key, value]) => [key, { value, type: present(valueTypes.get(key), key) }] as const,
  );
  return new Map([
    ...typed,
    ["general.name", { type: "text", value: name }],
    ...(chosen === null
      ? []
      : ([
          ["general.file_type", fileTypeOf(chosen)],
          ["general.quantization_version", blockVersion],
        ] as const)),
  ]);
}
