// Names of a layer's matrices and norms in files, by model class. Most classes use Llama's names. Some fuse several
// projections into one matrix by putting their rows one after another.
import { present } from "../../base/domain/assert.ts";
import type { ProjectionName } from "../../base/domain/model.ts";
import type { Architecture } from "./config.ts";

/** Norms by their names in Llama's and Gemma's files. */
export type NormName =
  | "input_layernorm"
  | "post_attention_layernorm"
  | "pre_feedforward_layernorm"
  | "post_feedforward_layernorm"
  | "self_attn.q_norm"
  | "self_attn.k_norm"
  | "post_per_layer_input_norm";

export interface ModuleNames {
  /** For each matrix, by its path within a layer: the projections whose rows it contains, in row order. */
  readonly matrices: Readonly<Record<string, readonly ProjectionName[]>>;
  /** Names of a layer's norms in files; absent for a norm whose name in files is its {@link NormName}. */
  readonly norms: Readonly<Partial<Record<NormName, string>>>;
  /** Path of the norm after the last layer. */
  readonly finalNorm: string;
  /** Path, within a layer, of the layer's delta rule or Mamba-2 module. */
  readonly recurrence: string;
}

const attention: ModuleNames["matrices"] = {
  "self_attn.q_proj": ["q_proj"],
  "self_attn.k_proj": ["k_proj"],
  "self_attn.v_proj": ["v_proj"],
  "self_attn.o_proj": ["o_proj"],
};

const plain: ModuleNames = {
  matrices: {
    ...attention,
    "mlp.gate_proj": ["gate_proj"],
    "mlp.up_proj": ["up_proj"],
    "mlp.down_proj": ["down_proj"],
  },
  norms: {},
  finalNorm: "model.norm",
  recurrence: "linear_attn",
};

const deltaMatrices: ModuleNames["matrices"] = {
  "linear_attn.in_proj_qkv": ["in_proj_qkv"],
  "linear_attn.in_proj_z": ["in_proj_z"],
  "linear_attn.in_proj_b": ["in_proj_b"],
  "linear_attn.in_proj_a": ["in_proj_a"],
  "linear_attn.out_proj": ["out_proj"],
};

const others: Readonly<Partial<Record<Architecture, ModuleNames>>> = {
  Phi3ForCausalLM: {
    ...plain,
    matrices: {
      "self_attn.qkv_proj": ["q_proj", "k_proj", "v_proj"],
      "self_attn.o_proj": ["o_proj"],
      "mlp.gate_up_proj": ["gate_proj", "up_proj"],
      "mlp.down_proj": ["down_proj"],
    },
  },
  GraniteMoeHybridForCausalLM: {
    ...plain,
    matrices: {
      ...attention,
      "shared_mlp.input_linear": ["gate_proj", "up_proj"],
      "shared_mlp.output_linear": ["down_proj"],
      "mamba.in_proj": ["in_proj"],
      "mamba.out_proj": ["out_proj"],
    },
    recurrence: "mamba",
  },
  Lfm2ForCausalLM: {
    ...plain,
    matrices: {
      "self_attn.q_proj": ["q_proj"],
      "self_attn.k_proj": ["k_proj"],
      "self_attn.v_proj": ["v_proj"],
      "self_attn.out_proj": ["o_proj"],
      "conv.in_proj": ["in_proj"],
      "conv.out_proj": ["out_proj"],
      "feed_forward.w1": ["gate_proj"],
      "feed_forward.w3": ["up_proj"],
      "feed_forward.w2": ["down_proj"],
    },
    norms: {
      input_layernorm: "operator_norm",
      post_attention_layernorm: "ffn_norm",
      "self_attn.q_norm": "self_attn.q_layernorm",
      "self_attn.k_norm": "self_attn.k_layernorm",
    },
    finalNorm: "model.embedding_norm",
  },
  Qwen3_5ForCausalLM: { ...plain, matrices: { ...plain.matrices, ...deltaMatrices } },
  Gemma4ForCausalLM: {
    ...plain,
    matrices: {
      ...plain.matrices,
      per_layer_input_gate: ["per_layer_input_gate"],
      per_layer_projection: ["per_layer_projection"],
    },
  },
  Qwen3_5MoeForCausalLM: {
    ...plain,
    matrices: {
      ...attention,
      "mlp.shared_expert.gate_proj": ["gate_proj"],
      "mlp.shared_expert.up_proj": ["up_proj"],
      "mlp.shared_expert.down_proj": ["down_proj"],
      ...deltaMatrices,
    },
  },
  NemotronHForCausalLM: {
    matrices: {
      "mixer.q_proj": ["q_proj"],
      "mixer.k_proj": ["k_proj"],
      "mixer.v_proj": ["v_proj"],
      "mixer.o_proj": ["o_proj"],
      "mixer.in_proj": ["in_proj"],
      "mixer.out_proj": ["out_proj"],
      "mixer.up_proj": ["up_proj"],
      "mixer.down_proj": ["down_proj"],
    },
    norms: { input_layernorm: "norm" },
    finalNorm: "model.norm_f",
    recurrence: "mixer",
  },
};

/** Returns the names that a class's files use for modules. */
export function moduleNames(architecture: Architecture): ModuleNames {
  return others[architecture] ?? plain;
}

/** True if the class's files have a matrix that holds several projections. */
export function hasFusedMatrices(architecture: Architecture): boolean {
  return Object.values(moduleNames(architecture).matrices).some(({ length }) => length > 1);
}

/** Returns the path of a layer's norm, such as `model.layers.0.input_layernorm`. */
export function normPath(architecture: Architecture, layer: number, name: NormName): string {
  return `model.layers.${layer}.${moduleNames(architecture).norms[name] ?? name}`;
}

/**
 * Returns the path of a projection within a layer. A projection in a fused matrix gets a path of its own, with the same
 * parent as the matrix: `self_attn.q_proj` for one in `self_attn.qkv_proj`.
 */
export function projectionPath(architecture: Architecture, layer: number, name: ProjectionName): string {
  const [matrix, parts] = present(
    Object.entries(moduleNames(architecture).matrices).find(([, members]) => members.includes(name)),
    `a matrix with ${name}`,
  );
  const own = parts.length === 1 ? matrix : matrix.replace(/[^.]+$/, name);
  return `model.layers.${layer}.${own}`;
}
