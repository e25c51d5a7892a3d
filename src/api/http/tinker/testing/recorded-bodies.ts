// For tests: bodies that the Python package tinker 0.38.0 sends, with the ids of a session and a model to fill in.
import { numberField, textField } from "../../../../train/trainer/tinker/wire/protobuf.ts";

export const recorded = {
  createSession: { tags: [], sdk_version: "0.38.0", type: "create_session" },
  createModel: (session: string, seq = 0) => ({
    session_id: session,
    model_seq_id: seq,
    base_model: "tiny",
    lora_config: { rank: 2, seed: 7, train_unembed: true, train_mlp: true, train_attn: true },
    optimizer_config: { type: "adamw" },
    type: "create_model",
  }),
  optimStep: (model: string, seq: number) => ({
    model_id: model,
    seq_id: seq,
    type: "optim_step",
    adam_params: {
      learning_rate: 0.01,
      beta1: 0.9,
      beta2: 0.95,
      eps: 1e-12,
      weight_decay: 0,
      grad_clip_norm: 0,
    },
  }),
  saveWeights: (model: string, seq: number) => ({
    model_id: model,
    path: "first",
    seq_id: seq,
    overwrite: false,
    type: "save_weights",
  }),
  saveForSampler: (model: string, seq: number) => ({
    model_id: model,
    sampling_session_seq_id: 0,
    kind: "snapshot",
    seq_id: seq,
    type: "save_weights_for_sampler",
  }),
  loadWeights: (session: string, path: string) => ({
    session_id: session,
    model_seq_id: 1,
    path,
    optimizer: true,
    type: "load_weights",
  }),
  sample: (sampler: string) => ({
    num_samples: 2,
    prompt: { chunks: [{ tokens: [1, 2, 3, 4, 5], type: "encoded_text" }] },
    sampling_params: { max_tokens: 3, stop: [9], temperature: 0.5, top_k: -1, top_p: 1 },
    sampling_session_id: sampler,
    seq_id: 0,
    prompt_logprobs: true,
    topk_prompt_logprobs: 0,
    topk_sample_logprobs: 0,
    prompt_alt_tokens_k: 0,
    type: "sample",
  }),
} as const;

/** Messages ForwardBackwardRequest for the sequence 1 to 6, without the fields `model_id` and `seq_id`. */
const messages = {
  /** The weights are 0, 1, 1, -0.5 and 2. */
  crossEntropy:
    "1a84010a180a160a14010000000200000003000000040000000500000012400a0d7461726765745f746f6b656e73122f0a2802000000000000000300000000000000040000000000000005000000000000000600000000000000180222010512260a0777656967687473121b0a14000000000000803f0000803f000000bf000000401801220105220d63726f73735f656e74726f7079",
  /** The advantages are 0, 1, 1, -1 and -1; the ratio is clipped to 0.9 and 1.1. */
  ppo: "1ab0010a180a160a14010000000200000003000000040000000500000012290a0a616476616e7461676573121b0a14000000000000803f0000803f000080bf000080bf180122010512400a0d7461726765745f746f6b656e73122f0a2802000000000000000300000000000000040000000000000005000000000000000600000000000000180222010512270a086c6f6770726f6273121b0a14000080bf000000c0000000c0000000c0000040c01801220105220370706f2a1d0a12636c69705f6c6f775f7468726573686f6c6411cdccccccccccec3f2a1e0a13636c69705f686967685f7468726573686f6c64119a9999999999f13f3a1f0a12636c69705f6c6f775f7468726573686f6c64120909cdccccccccccec3f3a200a13636c69705f686967685f7468726573686f6c641209099a9999999999f13f",
} as const;

/** Returns the body of a request to forward_backward. */
export function recordedData(kind: keyof typeof messages, model: string, seq: number): Buffer {
  return Buffer.concat([textField(1, model), numberField(2, seq), Buffer.from(messages[kind], "hex")]);
}

/** The same request without a gradient. */
export function recordedForward(model: string, seq: number): Buffer {
  return Buffer.concat([recordedData("crossEntropy", model, seq), numberField(6, 1)]);
}
