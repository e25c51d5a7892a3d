// Describes a model's config.json as the keys of a GGUF file's architecture, as llama.cpp's converter writes them. The
// caller reads the keys back and compares, so a setting that a file cannot express is refused, never lost.
import { ggufKeyOf } from "../gguf-architecture.ts";
import type { TypedMetadata, TypedValue, ValueType } from "../type-numbers.ts";

/** Fields of config.json; those of the text model if the model has several parts. */
export type ConfigFields = Readonly<Record<string, unknown>>;

/** Keys without the architecture's name in front. */
type Keys = Readonly<Record<string, TypedValue | undefined>>;

/**
 * Returns the keys of an architecture, in the converter's order, with `general.file_type` among them; null if Hone
 * cannot write files of this architecture from a folder.
 */
export function writtenKeys(
  fields: ConfigFields,
  architecture: string,
  fileType: TypedValue,
): TypedMetadata | null {
  const own = Object.hasOwn(families, architecture) ? families[architecture] : undefined;
  if (own === undefined) return null;
  const keys: Keys = {
    ...commonKeys(fields, architecture),
    [fileTypeKey]: fileType,
    ...own(fields, architecture),
  };
  const order = architecture === "phi3" ? phi3Order : Object.keys(keys);
  return new Map(
    order.flatMap((key) => {
      const value = keys[key];
      if (value === undefined) return [];
      return [[key === fileTypeKey ? key : `${architecture}.${key}`, value] as const];
    }),
  );
}

const fileTypeKey = "general.file_type";

/** Order of Phi-3's keys. The converter has separate code for them, with another order than for other architectures. */
const phi3Order: readonly string[] = [
  "context_length",
  "rope.scaling.original_context_length",
  "embedding_length",
  "feed_forward_length",
  "block_count",
  "attention.head_count",
  "attention.head_count_kv",
  "attention.layer_norm_rms_epsilon",
  "rope.dimension_count",
  "rope.freq_base",
  fileTypeKey,
  "attention.sliding_window",
  "rope.scaling.attn_factor",
];

/** Keys of one architecture. They replace the keys that all architectures have. */
const families: Readonly<Record<string, (fields: ConfigFields, architecture: string) => Keys>> = {
  llama: rotaryHeads,
  smollm3: rotaryHeads,
  mistral3: ministral,
  qwen2: () => ({}),
  qwen3: () => ({}),
  qwen3moe: (fields, name) => fromFields(fields, name, { moe_intermediate_size: "uint32" }),
  granite,
  olmo2: windows,
  gemma3,
  phi3,
  lfm2,
  qwen35: deltas,
};

function commonKeys(fields: ConfigFields, architecture: string): Keys {
  const head = number(fields["head_dim"], "uint32");
  return {
    ...fromFields(fields, architecture, {
      num_hidden_layers: "uint32",
      max_position_embeddings: "uint32",
      hidden_size: "uint32",
      intermediate_size: "uint32",
      num_attention_heads: "uint32",
      num_key_value_heads: "uint32",
    }),
    ...rotaryKeys(fields),
    // Newer files name the field `num_local_experts`.
    ...fromFields({ num_experts: fields["num_local_experts"], ...fields }, architecture, {
      rms_norm_eps: "float32",
      num_experts: "uint32",
      num_experts_per_tok: "uint32",
    }),
    "attention.key_length": head,
    "attention.value_length": head,
  };
}

/** Writes some fields of config.json as keys. Each key has the name under which the reader looks for the field. */
function fromFields(
  fields: ConfigFields,
  architecture: string,
  types: Readonly<Record<string, ValueType>>,
): Keys {
  return Object.fromEntries(
    Object.entries(types).map(([field, type]) => {
      const key = ggufKeyOf(field, architecture) ?? `${architecture}.${field}`;
      return [key.slice(architecture.length + 1), number(fields[field], type)];
    }),
  );
}

function number(value: unknown, type: ValueType): TypedValue | undefined {
  return typeof value === "number" ? { type, value } : undefined;
}

/** Settings of the rotary embedding, in the form of newer and of older files. */
export function rotarySettings(fields: ConfigFields): ConfigFields {
  const written = objectOf(fields["rope_parameters"] ?? fields["rope_scaling"]);
  const isPerKind = "full_attention" in written || "sliding_attention" in written;
  if (isPerKind) return objectOf(written["full_attention"]);
  const mirrored = ["rope_theta", "partial_rotary_factor", "original_max_position_embeddings"];
  const own = Object.fromEntries(mirrored.map((name) => [name, fields[name]]));
  return { ...own, rope_type: written["type"], ...written };
}

function objectOf(value: unknown): ConfigFields {
  // Safe cast: an object that was parsed from JSON.
  return typeof value === "object" && value !== null ? (value as ConfigFields) : {};
}

function slidingBase(fields: ConfigFields): unknown {
  const sliding = objectOf(objectOf(fields["rope_parameters"])["sliding_attention"]);
  return sliding["rope_theta"] ?? fields["rope_local_base_freq"];
}

function rotaryKeys(fields: ConfigFields): Keys {
  const settings = rotarySettings(fields);
  const bases = {
    "rope.freq_base": number(settings["rope_theta"], "float32"),
    "rope.freq_base_swa": number(slidingBase(fields), "float32"),
  };
  const named = (value: string): TypedValue => ({ type: "text", value });
  const factor = number(settings["factor"], "float32");
  switch (settings["rope_type"]) {
    case "linear":
      return { "rope.scaling.type": named("linear"), "rope.scaling.factor": factor, ...bases };
    case "yarn":
      return {
        "rope.scaling.type": named("yarn"),
        "rope.scaling.factor": factor,
        "rope.scaling.original_context_length": number(
          settings["original_max_position_embeddings"],
          "uint32",
        ),
        "rope.scaling.yarn_attn_factor": number(settings["attention_factor"], "float32"),
        "rope.scaling.yarn_beta_fast": number(settings["beta_fast"], "float32"),
        "rope.scaling.yarn_beta_slow": number(settings["beta_slow"], "float32"),
        ...bases,
      };
    case "su":
    case "longrope":
      return { "rope.scaling.type": named("longrope"), ...bases };
    default:
      return bases;
  }
}

function headSizeOf(fields: ConfigFields): number {
  const size = fields["head_dim"];
  return typeof size === "number"
    ? size
    : Number(fields["hidden_size"]) / Number(fields["num_attention_heads"]);
}

function rotaryHeads(fields: ConfigFields): Keys {
  return {
    vocab_size: number(fields["vocab_size"], "uint32"),
    "rope.dimension_count": number(headSizeOf(fields), "uint32"),
  };
}

function ministral(fields: ConfigFields): Keys {
  const settings = rotarySettings(fields);
  return {
    ...rotaryHeads(fields),
    "rope.scaling.yarn_log_multiplier": number(settings["mscale_all_dim"], "float32"),
    "attention.temperature_scale": number(settings["llama_4_scaling_beta"], "float32"),
  };
}

/** The converter ignores `head_dim`, so in config.json it must be absent or equal hidden size / heads. */
function granite(fields: ConfigFields, architecture: string): Keys {
  return {
    ...rotaryHeads({ ...fields, head_dim: undefined }),
    "attention.key_length": undefined,
    "attention.value_length": undefined,
    ...fromFields(fields, architecture, {
      attention_multiplier: "float32",
      embedding_multiplier: "float32",
      residual_multiplier: "float32",
      logits_scaling: "float32",
    }),
  };
}

function windows(fields: ConfigFields): Keys {
  const window = number(fields["sliding_window"], "uint32");
  if (window === undefined) return {};
  const kinds = fields["layer_types"];
  const slides = Array.isArray(kinds)
    ? kinds.map((kind) => kind === "sliding_attention")
    : Array.from({ length: Number(fields["num_hidden_layers"]) }, (_, layer) => (layer + 1) % 4 !== 0);
  return {
    "attention.sliding_window": window,
    "attention.sliding_window_pattern": { type: "flag", value: slides },
  };
}

/** Writes the default values of Gemma 3's fields that config.json omits. */
function gemma3(fields: ConfigFields): Keys {
  const head = number(fields["head_dim"] ?? 256, "uint32");
  return {
    context_length: number(fields["max_position_embeddings"] ?? 131_072, "uint32"),
    "attention.head_count": number(fields["num_attention_heads"] ?? 8, "uint32"),
    "attention.head_count_kv": number(fields["num_key_value_heads"] ?? 4, "uint32"),
    "attention.layer_norm_rms_epsilon": number(fields["rms_norm_eps"] ?? 1e-6, "float32"),
    "attention.key_length": head,
    "attention.value_length": head,
    "rope.freq_base": number(rotarySettings(fields)["rope_theta"] ?? 1_000_000, "float32"),
    final_logit_softcapping: number(fields["final_logit_softcapping"], "float32"),
    "attention.sliding_window": number(fields["sliding_window"], "uint32"),
  };
}

function phi3(fields: ConfigFields): Keys {
  const settings = rotarySettings(fields);
  const part = Number(settings["partial_rotary_factor"] ?? 1);
  const size = Math.trunc(part * Number(fields["hidden_size"])) / Number(fields["num_attention_heads"]);
  const original = settings["original_max_position_embeddings"];
  const growth = Number(fields["max_position_embeddings"]) / Number(original);
  const magnitude = growth > 1 ? Math.sqrt(1 + Math.log(growth) / Math.log(Number(original))) : 1;
  return {
    "rope.scaling.type": undefined,
    "rope.scaling.original_context_length": number(original, "uint32"),
    "rope.dimension_count": number(Math.floor(size), "uint32"),
    "rope.scaling.attn_factor":
      settings["long_factor"] === undefined ? undefined : number(magnitude, "float32"),
    // llama.cpp reads the value 0 as no window.
    "attention.sliding_window": number(fields["sliding_window"] ?? 0, "uint32"),
    "attention.key_length": undefined,
    "attention.value_length": undefined,
  };
}

function lfm2(fields: ConfigFields, architecture: string): Keys {
  const kinds = Array.isArray(fields["layer_types"]) ? fields["layer_types"] : [];
  const heads = kinds.map((kind) => (kind === "conv" ? 0 : Number(fields["num_key_value_heads"])));
  return {
    vocab_size: number(fields["vocab_size"], "uint32"),
    ...fromFields(fields, architecture, { conv_L_cache: "uint32", norm_eps: "float32" }),
    feed_forward_length: number(convolutionWidth(fields), "uint32"),
    "attention.head_count_kv": { type: "int32", value: heads },
  };
}

/**
 * Returns the width of LFM2's feed-forward part. Some config.json files give the width before an adjustment, which is
 * made here.
 */
function convolutionWidth(fields: ConfigFields): number {
  const width = Number(fields["block_ff_dim"] ?? fields["intermediate_size"]);
  if (fields["block_auto_adjust_ff_dim"] === false) return width;
  const multiplier =
    typeof fields["block_ffn_dim_multiplier"] === "number" ? fields["block_ffn_dim_multiplier"] : 1;
  const multiple = Number(fields["block_multiple_of"] ?? 256);
  return multiple * Math.ceil(Math.trunc(multiplier * Math.trunc((2 * width) / 3)) / multiple);
}

/** The dimensions of Qwen3.5's delta rules. */
function deltas(fields: ConfigFields): Keys {
  const valueHeads = Number(fields["linear_num_value_heads"]);
  const kinds = fields["layer_types"];
  const settings = rotarySettings(fields);
  const sections = settings["mrope_section"];
  const part = Number(settings["partial_rotary_factor"] ?? 0.25);
  return {
    "rope.dimension_sections": {
      type: "int32",
      value: Array.isArray(sections) ? [...sections.map(Number), 0, 0].slice(0, 4) : [11, 11, 10, 0],
    },
    "ssm.conv_kernel": number(fields["linear_conv_kernel_dim"], "uint32"),
    "ssm.state_size": number(fields["linear_key_head_dim"], "uint32"),
    "ssm.group_count": number(fields["linear_num_key_heads"], "uint32"),
    "ssm.time_step_rank": number(valueHeads, "uint32"),
    "ssm.inner_size": number(Number(fields["linear_value_head_dim"]) * valueHeads, "uint32"),
    "attention.recurrent_layers": Array.isArray(kinds)
      ? { type: "flag", value: kinds.map((kind) => kind === "linear_attention") }
      : undefined,
    full_attention_interval: number(fields["full_attention_interval"] ?? 4, "uint32"),
    "rope.dimension_count": number(Math.trunc(headSizeOf(fields) * part), "uint32"),
  };
}
