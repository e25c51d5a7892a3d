// Plans the export of an adapter as a GGUF file, in the form that llama.cpp's `convert_lora_to_gguf.py` writes. The
// file has a pair of matrices (A, B) for each matrix of the base model's GGUF file that the adapter changes. The rows
// of B are in the order of that matrix's rows.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import { ggufTensors } from "../../../lib/model-files/gguf/gguf-architecture.ts";
import { readGguf } from "../../../lib/model-files/gguf/gguf-file.ts";
import { ggufFilesOf } from "../../../lib/model-files/gguf/gguf-model.ts";
import { GgufMetadata } from "../../../lib/model-files/gguf/metadata.ts";
import { toStoredOrder } from "../../../lib/model-files/gguf/writing/stored-order.ts";
import type { TypedMetadata, TypedValue } from "../../../lib/model-files/gguf/type-numbers.ts";
import { blockVersion } from "../../../lib/model-files/gguf/writing/written-general.ts";
import { writtenModel } from "../../../lib/model-files/gguf/writing/written-model.ts";
import {
  readFloats,
  type Rearrangement,
  rowsOf,
  type StoredTensor,
} from "../../../lib/model-files/stored-tensor.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraNames } from "../../architectures/parameters.ts";
import { openLoraAdapter, type StoredLoraAdapter } from "../../architectures/peft-folder.ts";
import { storedProjections } from "../../architectures/stored-projections.ts";
import { readFolderModel } from "./folder-model.ts";
import { fileOf } from "./gguf-parts.ts";
import type { PlannedFile } from "./row-parts.ts";
import { type FilePart, inParts } from "./row-parts.ts";

/** Name of the exported file. */
export const adapterFileName = "adapter.gguf";

/** A matrix of the base model's GGUF file. */
interface Place {
  readonly name: string;
  readonly rearranged?: Rearrangement | undefined;
}

/** The matrices of the base model's GGUF file, by their Hugging Face names, and the file's architecture. */
interface Places {
  readonly architecture: string;
  readonly places: ReadonlyMap<string, Place>;
}

/**
 * Plans the file.
 *
 * @throws ServiceError as `openLoraAdapter`; `unsupported` for a base model that cannot be written as a GGUF file
 */
export function planGgufAdapter(baseFolder: string, adapterFolder: string, name: string): PlannedFile {
  const config = readModelConfig(baseFolder);
  const adapter = openLoraAdapter(adapterFolder, config);
  const stored = readSafetensorsHeader(join(adapterFolder, "adapter_model.safetensors")).tensors;
  const { architecture, places } = placesOf(baseFolder);
  const alpha = alphaOf(adapterFolder, adapter);
  const order = [...stored.keys()];
  const found = storedProjections(config).flatMap(({ path, parts }) => {
    const names = loraNames(path);
    const module = adapter.modules.get(parts[0].projection.path) ?? adapter.modules.get(path);
    if (module === undefined) return [];
    const [a, b] = [names.a, names.b].map((each) => present(stored.get(`base_model.model.${each}`), each));
    const factor = (module.scale * b.shape[1]) / alpha;
    const whole = places.get(`${path}.weight`);
    if (whole !== undefined) return [{ place: whole, a, b, factor }];
    return parts.map(({ projection, from }) => ({
      place: present(places.get(`${projection.path}.weight`), projection.path),
      a,
      b: rowsOf(b, from, projection.outputSize),
      factor,
    }));
  });
  // As in llama.cpp's converter, the pairs are in the order of the adapter's file.
  const pairs = found.toSorted((one, other) => order.indexOf(one.a.name) - order.indexOf(other.a.name));
  const tensors = pairs.flatMap(({ place, a, b }) => [
    { name: `${place.name}.lora_a`, shape: a.shape, type: "F32" as const },
    { name: `${place.name}.lora_b`, shape: b.shape, type: "F32" as const },
  ]);
  const parts = pairs.flatMap(({ place: { rearranged }, a, b, factor }) => {
    const isOfInputs = rearranged?.kind === "tiled-heads" && rearranged.axis === "columns";
    return [
      matrixParts(a, isOfInputs ? rearranged : undefined, 1),
      matrixParts(b, isOfInputs ? undefined : rearranged, factor),
    ];
  });
  return fileOf(adapterFileName, metadataOf({ architecture, name, alpha }), tensors, parts);
}

function placesOf(baseFolder: string): Places {
  const [file] = ggufFilesOf(baseFolder) ?? [];
  if (file === undefined) {
    const { metadata, tensors } = writtenModel(readFolderModel(baseFolder), { name: "", chosen: "F32" });
    const architecture = String(metadata.get("general.architecture")?.value);
    const places = tensors.flatMap(({ name, sources, rearranged }) =>
      (sources ?? []).map((source) => [source.name, { name, rearranged }] as const),
    );
    return { architecture, places: new Map(places) };
  }
  const whole = readGguf(file);
  const metadata = new GgufMetadata(basename(file), whole.metadata);
  const names = new Map(
    [...whole.tensors.values()].map((tensor) => [tensor.offset + tensor.file, tensor.name]),
  );
  const places = [...ggufTensors(whole, metadata)].map(([name, tensor]) => {
    const own = present(names.get(tensor.offset + tensor.file), name);
    return [name, { name: own, rearranged: tensor.rearranged }] as const;
  });
  return { architecture: String(metadata.text("general.architecture")), places: new Map(places) };
}

/** Returns the file's alpha; llama.cpp divides it by the rank of each pair. */
function alphaOf(adapterFolder: string, { modules, scale, rank }: StoredLoraAdapter): number {
  const written: unknown = JSON.parse(readFileSync(join(adapterFolder, "adapter_config.json"), "utf8"));
  // Safe cast: the adapter was opened, so its configuration is an object.
  const { lora_alpha: alpha, use_rslora: isStabilised } = written as Record<string, unknown>;
  if (typeof alpha === "number" && alpha !== 0 && isStabilised !== true) return alpha;
  const [first] = modules.values();
  return (first?.scale ?? scale) * (first?.rank ?? rank) || 1;
}

function matrixParts(
  matrix: StoredTensor,
  rearranged: Rearrangement | undefined,
  factor: number,
): readonly FilePart[] {
  if (Math.abs(factor - 1) < 1e-6)
    return inParts(matrix, null, { type: "F32", ...(rearranged && { rearranged }) });
  const values = readFloats(matrix).map((value) => value * factor);
  const ordered = toStoredOrder(values, { ...matrix, ...(rearranged && { rearranged }) });
  return [{ kind: "made", bytes: new Uint8Array(ordered.buffer, ordered.byteOffset, ordered.byteLength) }];
}

function metadataOf({
  architecture,
  name,
  alpha,
}: {
  readonly architecture: string;
  readonly name: string;
  readonly alpha: number;
}): TypedMetadata {
  return new Map<string, TypedValue>([
    ["general.architecture", { type: "text", value: architecture }],
    ["general.type", { type: "text", value: "adapter" }],
    ["adapter.type", { type: "text", value: "lora" }],
    ["general.name", { type: "text", value: name }],
    ["adapter.lora.alpha", { type: "float32", value: alpha }],
    ["general.quantization_version", blockVersion],
  ]);
}
