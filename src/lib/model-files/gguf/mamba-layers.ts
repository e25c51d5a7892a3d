// Layers with Mamba-2 in GGUF files of Granite 4 and Nemotron-H: names of tensors, and fields of config.json.
// Converters write the decay A itself, and give some tensors an additional axis.
import type { StoredTensor } from "../stored-tensor.ts";
import type { GgufMetadata } from "./metadata.ts";

/** Keys of Mamba layers, without the architecture's name. */
export const mambaKeys = [
  "ssm.conv_kernel",
  "ssm.state_size",
  "ssm.group_count",
  "ssm.time_step_rank",
  "ssm.inner_size",
] as const;

/** Maps parts of the names of Mamba tensors in the file to the Hugging Face layout. */
export function mambaParts(path: string): Readonly<Record<string, string>> {
  return {
    ssm_in: `${path}.in_proj`,
    ssm_conv1d: `${path}.conv1d`,
    ssm_norm: `${path}.norm`,
    ssm_out: `${path}.out_proj`,
  };
}

/** Like {@link mambaParts}, for tensors whose names do not end with `weight`. */
export function bareMambaParts(path: string): Readonly<Record<string, string>> {
  return { ssm_a: `${path}.A_log`, ssm_d: `${path}.D`, "ssm_dt.bias": `${path}.dt_bias` };
}

interface MambaSizes {
  readonly kernelSize: number;
  readonly stateSize: number;
  readonly groups: number;
  readonly heads: number;
  readonly headSize: number;
}

export function mambaSizes(metadata: GgufMetadata, prefix: string): MambaSizes {
  const needed = (name: string): number =>
    metadata.needed(`${prefix}.${name}`, metadata.number(`${prefix}.${name}`));
  const heads = needed("ssm.time_step_rank");
  return {
    kernelSize: needed("ssm.conv_kernel"),
    stateSize: needed("ssm.state_size"),
    groups: needed("ssm.group_count"),
    heads,
    headSize: needed("ssm.inner_size") / heads,
  };
}

/** Returns a tensor of a Mamba layer as the Hugging Face layout has it; null for other tensors. */
export function mambaTensor(tensor: StoredTensor, name: string): StoredTensor | null {
  const part = /\.(?:mamba|mixer)\.(A_log|D|norm\.weight)$/.exec(name)?.[1];
  if (part === undefined) return null;
  const size = tensor.shape.reduce((product, each) => product * each, 1);
  const named = { ...tensor, name, shape: [size] };
  if (part !== "A_log") return named;
  const heads = { first: 0, headSize: 1, keyHeads: size, valueHeads: size };
  return { ...named, rearranged: { kind: "tiled-heads", axis: "rows", ...heads, isNegatedPower: true } };
}
