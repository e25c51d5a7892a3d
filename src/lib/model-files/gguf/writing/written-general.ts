// The general keys of a written GGUF file: name, size and recommended sampling.
import { type ChosenType, fileTypeNumbers } from "./written-types.ts";
import type { TypedMetadata, TypedValue, ValueType } from "../type-numbers.ts";

type Json = Readonly<Record<string, unknown>>;

/** Fields of generation_config.json, each with its key and its type in the GGUF file. */
const samplingFields: readonly (readonly [string, string, ValueType])[] = [
  ["top_k", "top_k", "int32"],
  ["top_p", "top_p", "float32"],
  ["min_p", "min_p", "float32"],
  ["xtc_probability", "xtc_probability", "float32"],
  ["xtc_threshold", "xtc_threshold", "float32"],
  ["temperature", "temp", "float32"],
  ["penalty_last_n", "penalty_last_n", "int32"],
  ["repetition_penalty", "penalty_repeat", "float32"],
];

/** Returns the keys about the whole file. */
export function generalKeys({
  architecture,
  name,
  generation,
  sizeLabel,
}: {
  readonly architecture: string;
  readonly name: string;
  /** Content of generation_config.json. */
  readonly generation: Json;
  readonly sizeLabel: string;
}): TypedMetadata {
  const sampling = samplingFields.flatMap(([field, key, type]) => {
    const value = generation[field];
    return typeof value === "number" ? [[`general.sampling.${key}`, { type, value }] as const] : [];
  });
  return new Map<string, TypedValue>([
    ["general.architecture", { type: "text", value: architecture }],
    ["general.type", { type: "text", value: "model" }],
    ...sampling,
    ["general.name", { type: "text", value: name }],
    ["general.size_label", { type: "text", value: sizeLabel }],
  ]);
}

/** Returns `general.file_type` for a type of the matrices. */
export function fileTypeOf(chosen: ChosenType): TypedValue {
  return { type: "uint32", value: fileTypeNumbers[chosen] };
}

/** `general.quantization_version`: the version of the layout of quantized blocks. */
export const blockVersion: TypedValue = { type: "uint32", value: 2 };

interface Sized {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Returns the number of weights as a short text, such as `135M`, or `128x0.6B` for a mixture of experts. */
export function sizeLabelOf(tensors: readonly Sized[]): string {
  let [shared, perExpert, expertSum, expertTensors] = [0, 0, 0, 0];
  for (const { name, shape } of tensors) {
    const size = shape.reduce((product, each) => product * each, 1);
    if (name.includes("_exps.") && shape.length >= 3) {
      perExpert += size / shape[0];
      expertSum += shape[0];
      expertTensors++;
    } else shared += size;
  }
  if (expertTensors === 0) return countText(shared);
  return `${Math.floor(expertSum / expertTensors)}x${countText(shared + perExpert)}`;
}

function countText(count: number): string {
  const units = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
  ] as const;
  const [unit, suffix] = units.find(([least]) => count > least) ?? [1e3, "K"];
  const scaled = count / unit;
  const digits = String(Math.round(scaled)).replace(/^0+/, "").length;
  return scaled.toFixed(Math.max(2 - digits, 0)) + suffix;
}
