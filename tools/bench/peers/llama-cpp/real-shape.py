"""Writes a GGUF file with random weights in the shape of a published model, for `tools/bench/peers/llama-cpp.ts`.

Usage: python real-shape.py <shape> <file.gguf> [F16|Q4_0], with a shape of SHAPES. The default type is F16. Nothing is
downloaded. Needs the package gguf.
"""

import sys

import gguf
import numpy

# Width, feed-forward width, layers, heads, heads of keys and values, head size, vocabulary; from the published config.json.
SHAPES = {
    "llama-3.2-1b": ("llama", 2048, 8192, 16, 32, 8, 64, 128_256),
    "llama-3.1-8b": ("llama", 4096, 14_336, 32, 32, 8, 128, 128_256),
    "qwen3-0.6b": ("qwen3", 1024, 3072, 28, 16, 8, 128, 151_936),
    "qwen3-1.7b": ("qwen3", 2048, 6144, 28, 16, 8, 128, 151_936),
    "lfm2.5-1.2b": ("lfm2", 2048, 8192, 16, 32, 8, 64, 65_536),
    "qwen3.5-0.8b": ("qwen35", 1024, 3584, 24, 8, 2, 256, 248_320),
    "qwen3.5-4b": ("qwen35", 2560, 9216, 32, 16, 4, 256, 248_320),
}
LFM_ATTENTION = {2, 5, 8, 10, 12, 14}
STATE, KEY_GROUPS = 128, 16


def delta_heads(width: int) -> int:
    return 32 if width > 2048 else 16


def layer_tensors(arch: str, layer: int, sizes: tuple) -> dict[str, tuple[int, ...]]:
    width, inner, _, heads, kv_heads, head_size, _ = sizes
    tensors = {"attn_norm.weight": (width,), "ffn_norm.weight": (width,)}
    if arch == "qwen35":
        tensors = {"attn_norm.weight": (width,), "post_attention_norm.weight": (width,)}
    tensors |= {"ffn_gate.weight": (inner, width), "ffn_up.weight": (inner, width), "ffn_down.weight": (width, inner)}
    if arch == "lfm2" and layer not in LFM_ATTENTION:
        return tensors | {
            "shortconv.conv.weight": (width, 3),
            "shortconv.in_proj.weight": (3 * width, width),
            "shortconv.out_proj.weight": (width, width),
        }
    if arch == "qwen35" and layer % 4 != 3:
        value_heads = delta_heads(width)
        values, mixed = value_heads * STATE, (value_heads + 2 * KEY_GROUPS) * STATE
        return tensors | {
            "attn_qkv.weight": (mixed, width),
            "attn_gate.weight": (values, width),
            "ssm_conv1d.weight": (mixed, 4),
            "ssm_a": (value_heads,),
            "ssm_dt.bias": (value_heads,),
            "ssm_alpha.weight": (value_heads, width),
            "ssm_beta.weight": (value_heads, width),
            "ssm_norm.weight": (STATE,),
            "ssm_out.weight": (width, values),
        }
    gated = 2 if arch == "qwen35" else 1
    if arch != "llama":
        tensors |= {"attn_q_norm.weight": (head_size,), "attn_k_norm.weight": (head_size,)}
    return tensors | {
        "attn_q.weight": (gated * heads * head_size, width),
        "attn_k.weight": (kv_heads * head_size, width),
        "attn_v.weight": (kv_heads * head_size, width),
        "attn_output.weight": (width, heads * head_size),
    }


def values(name: str, shape: tuple[int, ...], random: numpy.random.Generator) -> numpy.ndarray:
    if len(shape) == 1:
        fill = -0.5 if name.endswith("ssm_a") else 0.0 if name.endswith("bias") else 1.0
        return numpy.full(shape, fill, numpy.float32)
    return random.standard_normal(shape, numpy.float32) * shape[1] ** -0.5


def type_of(name: str, shape: tuple[int, ...]) -> type:
    is_kernel = name.endswith(("shortconv.conv.weight", "ssm_conv1d.weight"))
    return numpy.float32 if len(shape) == 1 or is_kernel else numpy.float16


def q4_0(shape: tuple[int, ...], random: numpy.random.Generator) -> numpy.ndarray:
    """Returns random Q4_0 blocks: a float16 scale, then 32 codes of 4 bits, whose standard deviation is 4.6."""
    blocks = random.integers(0, 256, (shape[0], shape[1] // 32, 18), numpy.uint8)
    blocks[..., :2] = numpy.frombuffer(numpy.float16(shape[1] ** -0.5 / 4.6).tobytes(), numpy.uint8)
    return blocks.reshape(shape[0], -1)


def main(name: str, path: str, matrices: str = "F16") -> None:
    arch, *sizes = SHAPES[name]
    width, inner, layers, heads, kv_heads, head_size, vocabulary = sizes
    writer = gguf.GGUFWriter(path, arch)
    writer.add_block_count(layers)
    writer.add_context_length(32_768)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(
        [kv_heads if layer in LFM_ATTENTION else 0 for layer in range(layers)] if arch == "lfm2" else kv_heads
    )
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1_000_000)
    if arch == "qwen3":
        writer.add_key_length(head_size)
        writer.add_value_length(head_size)
    if arch == "lfm2":
        writer.add_shortconv_l_cache(3)
    if arch == "qwen35":
        writer.add_key_length(head_size)
        writer.add_value_length(head_size)
        writer.add_rope_dimension_count(head_size // 4)
        writer.add_rope_dimension_sections([11, 11, 10, 0])
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_state_size(STATE)
        writer.add_ssm_group_count(KEY_GROUPS)
        writer.add_ssm_time_step_rank(delta_heads(width))
        writer.add_ssm_inner_size(delta_heads(width) * STATE)
        writer.add_uint32("qwen35.full_attention_interval", 4)
    byte_texts = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    texts = [chr(byte) for byte in byte_texts] + [chr(256 + index) for index in range(256 - len(byte_texts))]
    texts += ["th", "<|end|>"] + [f"token{index}" for index in range(vocabulary - 258)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    writer.add_token_types([3 if text == "<|end|>" else 1 for text in texts])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(257)
    writer.add_chat_template("{% for message in messages %}{{ message.content }}<|end|>{% endfor %}")
    final_norm = "token_embd_norm.weight" if arch == "lfm2" else "output_norm.weight"
    tensors = {"token_embd.weight": (vocabulary, width), final_norm: (width,)}
    if name == "llama-3.1-8b":
        tensors["output.weight"] = (vocabulary, width)
    for layer in range(layers):
        tensors |= {f"blk.{layer}.{part}": shape for part, shape in layer_tensors(arch, layer, tuple(sizes)).items()}
    random = numpy.random.default_rng(1)
    is_q4 = {tensor: matrices == "Q4_0" and type_of(tensor, shape) is numpy.float16 for tensor, shape in tensors.items()}
    for tensor, shape in tensors.items():
        kind = numpy.dtype(type_of(tensor, shape))
        if is_q4[tensor]:
            q4 = gguf.GGMLQuantizationType.Q4_0
            size = int(numpy.prod(shape)) // 32 * 18
            writer.add_tensor_info(tensor, (*shape[:-1], shape[-1] // 32 * 18), numpy.dtype(numpy.uint8), size, q4)
        else:
            writer.add_tensor_info(tensor, shape, kind, int(numpy.prod(shape)) * kind.itemsize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor, shape in tensors.items():
        made = q4_0(shape, random) if is_q4[tensor] else values(tensor, shape, random).astype(type_of(tensor, shape))
        writer.write_tensor_data(made)
    writer.close()


main(*sys.argv[1:])
