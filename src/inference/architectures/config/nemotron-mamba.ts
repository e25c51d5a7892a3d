// Reads the layers and the Mamba-2 settings of Nemotron-H. Defaults equal those of the class in Transformers 5.
import type { ConvolutionConfig, MambaConfig } from "../config.ts";
import type { ConfigReader } from "./config-reader.ts";
import { groupCount, kernelSizeMax, requireSilu } from "./mamba-fields.ts";

export function nemotronMamba(reader: ConfigReader): MambaConfig {
  const heads = reader.count("mamba_num_heads", 128);
  requireSilu(reader, "mamba_hidden_act");
  const minField = olderName(reader, "time_step_min", "mamba_dt_min");
  return {
    groups: groupCount(reader, olderName(reader, "n_groups", "mamba_n_groups"), { heads, fallback: 8 }),
    heads,
    headSize: reader.count("mamba_head_dim", 64),
    stateSize: reader.count("ssm_state_size", 128),
    hasProjectionBias: reader.flag("use_bias", false),
    // Only `time_step_min` limits the steps, not `time_step_limit`, as in Transformers when it computes a whole text.
    stepMin: reader.get(minField) === 0 ? 0 : reader.number(minField, 0.001),
    stepMax: Infinity,
  };
}

export function nemotronConvolution(reader: ConfigReader): ConvolutionConfig {
  return {
    kernelSize: reader.count(olderName(reader, "conv_kernel", "mamba_d_conv"), 4, kernelSizeMax),
    hasBias: reader.flag(olderName(reader, "use_conv_bias", "mamba_conv_bias"), true),
  };
}

type NemotronKind = "mamba" | "full_attention" | "feed-forward";

const nemotronKindNames: Readonly<Record<string, NemotronKind>> = {
  linear_attention: "mamba",
  mamba: "mamba",
  M: "mamba",
  full_attention: "full_attention",
  attention: "full_attention",
  "*": "full_attention",
  mlp: "feed-forward",
  "-": "feed-forward",
};

/** Reads the layers of Nemotron-H: a list of names, or in older files a pattern with a character for each layer. */
export function nemotronKinds(reader: ConfigReader): readonly NemotronKind[] {
  const field =
    (reader.get("layers_block_type") ?? null) === null ? "hybrid_override_pattern" : "layers_block_type";
  const listed = reader.get(field);
  const names: readonly unknown[] =
    typeof listed === "string" ? listed.split("") : Array.isArray(listed) ? listed : [];
  const kinds = names.flatMap((name) =>
    typeof name === "string" && Object.hasOwn(nemotronKindNames, name) ? [nemotronKindNames[name]] : [],
  );
  if (kinds.length > 0 && kinds.length === names.length) return kinds;
  const hasExperts = names.includes("moe") || names.includes("E");
  reader.refuse(
    field,
    hasExperts
      ? "a mixture of experts is not computed; use a dense model"
      : "layers of Mamba-2 (M), attention (*) and feed-forward (-) are computed; use a model with these",
  );
  return [];
}

/** Returns the older name of a field if the file uses it. */
function olderName(reader: ConfigReader, field: string, older: string): string {
  return reader.get(older) === undefined ? field : older;
}
