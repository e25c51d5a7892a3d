// Tests which form each weight gets, with the types stored in the file and with an operator's choice.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Quantization } from "../../../base/domain/model.ts";
import type { StoredTensor, StoredType } from "../../../lib/model-files/stored-tensor.ts";
import { readModelConfig } from "../config/read-config.ts";
import type { ModelConfig } from "../config.ts";
import { modelParameters } from "../parameters.ts";
import { chooseForms, precisionLabel, precisionOf } from "./choose-forms.ts";
import { everyKernel, type IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";

const llama = readModelConfig("test/fixtures/goldens/models/llama");
/** In this model, each weight row consists of whole blocks of 32 numbers. */
const config: ModelConfig = { ...llama, width: 64, intermediateSize: 128, headSize: 64 / llama.headCount };

function storedAs(typeOf: (name: string) => StoredType): ReadonlyMap<string, StoredTensor> {
  return new Map(
    modelParameters(config).map(({ name, shape }) => [
      name,
      { name, shape, type: shape.length === 1 ? "F32" : typeOf(name), file: "", offset: 0, byteLength: 0 },
    ]),
  );
}

function formsOf(
  type: StoredType,
  quantization: Quantization,
  kernels: IntegerKernels = everyKernel,
): { readonly label: string | undefined; readonly query: string; readonly embedding: string } {
  const forms = chooseForms(
    config,
    storedAs(() => type),
    { quantization, kernels },
  );
  assert(!forms.has("model.norm.weight"), "norms are float32");
  return {
    label: precisionLabel(config, forms, quantization),
    query: forms.get("model.layers.0.self_attn.q_proj.weight") ?? "float32",
    embedding: forms.get("model.embed_tokens.weight") ?? "float32",
  };
}

test("as-stored keeps four bits, converts other quantized types to 8, and keeps the rest in float32", () => {
  const four = { label: "int4-as-stored", embedding: "int8" };
  assert.deepEqual(formsOf("Q4_0", "as-stored"), { ...four, query: "int4" });
  assert.deepEqual(formsOf("Q4_1", "as-stored"), { ...four, query: "int4-offset" });
  assert.deepEqual(formsOf("Q4_K", "as-stored"), { ...four, query: "int4-offset" });
  for (const type of ["Q8_0", "Q6_K", "Q5_1", "Q3_K", "IQ4_NL", "IQ4_XS", "IQ3_S"] as const) {
    assert.deepEqual(formsOf(type, "as-stored"), {
      label: "int8-as-stored",
      query: "int8",
      embedding: "int8",
    });
  }
  for (const type of ["F32", "F16", "BF16"] as const) {
    const float = { label: undefined, query: "float32", embedding: "float32" };
    assert.deepEqual(formsOf(type, "as-stored"), float);
  }
});

test("an operator's bits apply to every type", () => {
  for (const type of ["F32", "BF16", "Q8_0", "Q4_1"] as const) {
    assert.equal(formsOf(type, "off").label, undefined);
    assert.deepEqual(formsOf(type, "8"), { label: "int8", query: "int8", embedding: "int8" });
    assert.deepEqual(formsOf(type, "4"), { label: "int4", query: "int4-offset", embedding: "int8" });
  }
  assert.equal(formsOf("Q4_0", "4").query, "int4");
});

test("without exact signed sums codes are unsigned and 4 bits become 8; without either, float32", () => {
  const unsigned: IntegerKernels = { codes: "uint8", fourBits: false };
  const eight = { query: "uint8", embedding: "uint8" };
  for (const type of ["Q8_0", "Q4_0", "Q4_K", "Q6_K"] as const)
    assert.deepEqual(formsOf(type, "as-stored", unsigned), { label: "int8-as-stored", ...eight });
  for (const quantization of ["8", "4"] as const)
    assert.deepEqual(formsOf("F32", quantization, unsigned), { label: "int8", ...eight });
  const float = { label: undefined, query: "float32", embedding: "float32" };
  for (const quantization of ["as-stored", "8", "4", "off"] as const)
    assert.deepEqual(formsOf("Q4_0", quantization, { codes: null, fourBits: false }), float);
  const withoutFour = formsOf("Q4_0", "as-stored", { codes: "int8", fourBits: false });
  assert.deepEqual(withoutFour, { label: "int8-as-stored", query: "int8", embedding: "int8" });
});

test("rows that are not whole blocks have 8 bits", () => {
  const narrow = { ...config, width: 48 };
  const stored = storedAs(() => "F32");
  const forms = chooseForms(narrow, stored, { quantization: "4", kernels: everyKernel });
  assert.equal(forms.get("model.layers.0.self_attn.q_proj.weight"), "int8");
  assert.equal(forms.get("model.layers.0.mlp.down_proj.weight"), "int4-offset");
});

test("the precision is that of most weights", () => {
  const forms = chooseForms(
    config,
    storedAs((name) => (name.includes("down") ? "Q6_K" : "Q4_K")),
    { quantization: "as-stored", kernels: everyKernel },
  );
  assert.equal(forms.get("model.layers.0.mlp.down_proj.weight"), "int8");
  assert.equal(precisionOf(config, forms), "int4");
});
