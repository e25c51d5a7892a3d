// Joins the tensors of experts in files. Files have a tensor for each expert, or tensors of all experts. The decoder
// needs two stacks for each layer: gate and up as one matrix per expert, and down.
import { joinedRows, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { ModelConfig } from "../config.ts";
import { expertNames, stackBiasName } from "./expert-parameters.ts";
import { biasesOf, type ExpertMatrices, gptOssMatrices, wholeOf } from "./stored-stacks.ts";

type Tensors = ReadonlyMap<string, StoredTensor>;

/**
 * Returns the tensors with the experts' tensors joined into stacks. If the experts of a layer are incomplete or their
 * shapes differ, the layer's tensors stay unchanged.
 */
export function joinExperts(stored: Tensors, config: ModelConfig): Tensors {
  const { experts } = config;
  if (experts === null) return stored;
  const { count } = experts;
  const isGptOss = config.architecture === "GptOssForCausalLM";
  const tensors = new Map(stored);
  const replace = (name: string, parts: readonly (ExpertMatrices | null)[]): void => {
    const found = parts.filter((part) => part !== null);
    const shapes = new Set(found.flatMap(({ matrices }) => matrices.map(({ shape }) => shape.join())));
    if (found.length < parts.length || shapes.size !== 1) return;
    for (const one of found.flatMap(({ names }) => names)) tensors.delete(one);
    const pieces = Array.from({ length: count }, (_, at) => found.map(({ matrices }) => matrices[at])).flat();
    const [rows, ...rest] = pieces[0].shape;
    tensors.set(name, joinedRows(name, pieces, [count, found.length * rows, ...rest]));
  };
  for (const [layer, { experts: own }] of config.layers.entries()) {
    if (own === undefined) continue;
    const { gateUp, down } = expertNames(config, layer);
    const path = down.replace(/down_proj$/, "");
    const partOf = (part: string): ExpertMatrices | null =>
      matricesOf(stored, { path, part, count, isGptOss });
    const both = partOf("gate_up_proj");
    replace(gateUp, both === null ? [partOf("gate_proj"), partOf("up_proj")] : [both]);
    replace(down, [partOf("down_proj")]);
    if (!experts.hasBias) continue;
    const biasOf = (part: string): ExpertMatrices | null => wholeOf(stored, `${path}${part}.bias`, count);
    if (stored.has(stackBiasName(down))) {
      replace(stackBiasName(gateUp), [biasesOf(stored, stackBiasName(gateUp), count)]);
      continue;
    }
    replace(stackBiasName(gateUp), [biasOf("gate_proj"), biasOf("up_proj")]);
    replace(stackBiasName(down), [biasOf("down_proj")]);
  }
  return tensors;
}

/** Returns each expert's matrix named `part`, such as `down_proj`; null unless the file has it for all experts. */
function matricesOf(
  stored: Tensors,
  {
    path,
    part,
    count,
    isGptOss,
  }: {
    readonly path: string;
    readonly part: string;
    readonly count: number;
    readonly isGptOss: boolean;
  },
): ExpertMatrices | null {
  // GGUF files end every name with `weight`.
  const whole =
    wholeOf(stored, `${path}${part}.weight`, count) ??
    gptOssMatrices(stored, { name: `${path}${part}`, isPaired: part === "gate_up_proj", isGptOss, count });
  if (whole !== null) return whole;
  const names = Array.from({ length: count }, (_, expert) => `${path}${expert}.${part}.weight`);
  const matrices = names.flatMap((name) => stored.get(name) ?? []);
  return matrices.length === count ? { names, matrices } : null;
}
