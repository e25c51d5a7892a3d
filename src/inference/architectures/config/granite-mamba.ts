// Reads the Mamba-2 settings of Granite 4. Defaults equal those of the class in Transformers 5.
import type { ConvolutionConfig, MambaConfig } from "../config.ts";
import type { ConfigReader } from "./config-reader.ts";
import { groupCount, kernelSizeMax, requireSilu } from "./mamba-fields.ts";

export function graniteMamba(reader: ConfigReader): MambaConfig {
  const inner = reader.count("mamba_expand", 2) * reader.count("hidden_size");
  const heads = reader.count("mamba_n_heads", 128);
  const headSize =
    (reader.get("mamba_d_head") ?? "auto") === "auto"
      ? Math.floor(inner / heads)
      : reader.count("mamba_d_head");
  if (heads * headSize !== inner)
    reader.refuse("mamba_n_heads", `heads of size ${headSize} must have ${inner} channels together`);
  requireSilu(reader, "hidden_act");
  const [stepMin, stepMax] = stepLimits(reader);
  return {
    groups: groupCount(reader, "mamba_n_groups", { heads, fallback: 1 }),
    heads,
    headSize,
    stateSize: reader.count("mamba_d_state", 256),
    hasProjectionBias: reader.flag("mamba_proj_bias", false),
    stepMin,
    stepMax,
  };
}

export function graniteConvolution(reader: ConfigReader): ConvolutionConfig {
  return {
    kernelSize: reader.count("mamba_d_conv", 4, kernelSizeMax),
    hasBias: reader.flag("mamba_conv_bias", true),
  };
}

/** Reads `time_step_limit`, in which Transformers writes an infinite number as an object. */
function stepLimits(reader: ConfigReader): readonly [number, number] {
  const limits = reader.get("time_step_limit") ?? [0, Infinity];
  const [least, most] = (Array.isArray(limits) ? (limits as readonly unknown[]) : []).map((limit) =>
    typeof limit === "number" ? limit : limitOf(limit),
  );
  if (least >= 0 && least < most) return [least, most];
  reader.refuse("time_step_limit", "two numbers are needed, the least step and the greatest");
  return [0, Infinity];
}

function limitOf(value: unknown): number {
  return JSON.stringify(value) === '{"__float__":"Infinity"}' ? Infinity : Number.NaN;
}
