// Chooses the precision of each weight: as stored in the file or as the operator configured, if the machine has exact
// kernels for it. Norms and biases are always float32, because they are few and every token uses them.
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { hasFourBitBlocks } from "../../../lib/model-files/gguf/four-bit-blocks.ts";
import { isPlainType, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { ModelConfig } from "../config.ts";
import { isExpertStack, isStackBias } from "../experts/expert-parameters.ts";
import { modelParameters, type ParameterSpec } from "../parameters.ts";
import {
  blockSize,
  promptCodes,
  weightUseFor,
  type Precision,
  type WeightForm,
  type WeightForms,
} from "./weight-forms.ts";

/** Inputs of {@link chooseForms}, besides the model. */
export interface FormChoice {
  readonly quantization: Quantization;
  readonly kernels: IntegerKernels;
}

/**
 * Chooses the form of each weight. Each form must have a kernel on this machine whose results do not depend on the
 * batch. If there is none, 8 bits replace 4, and float32 replaces 8.
 *
 * - With `as-stored`, types that fit blocks of 32 exactly (Q4_0, Q4_1, Q4_K) keep four bits. Other quantized types
 *   become 8 bits, which lose little. Float32 and 16-bit types stay floating point.
 * - The weights of experts have 8 bits instead of 4, because every fast kernel for 4 bits needs weights that it
 *   rearranged when the model was loaded.
 * - The embedding and the output projection affect every logit, so they never have fewer than 8 bits.
 *
 * @param stored tensors of the file, by the names of the model's parameters
 */
export function chooseForms(
  config: ModelConfig,
  stored: ReadonlyMap<string, StoredTensor>,
  { quantization, kernels }: FormChoice,
): WeightForms {
  return new Map(
    modelParameters(config).flatMap((parameter) => {
      const tensor = stored.get(parameter.name);
      if (!isMatrix(parameter) || tensor === undefined || isSensitive(parameter)) return [];
      const form = weightFormFor(parameter, tensor, { config, quantization, kernels });
      return form === "float32" ? [] : [[parameter.name, form] as const];
    }),
  );
}

/** True for matrices, including those of experts. */
export function isMatrix({ name, shape }: ParameterSpec): boolean {
  return (shape.length === 2 && !isStackBias(name)) || isExpertStack(name);
}

/** Ends of the names of small projections that are sensitive to rounding. */
const sensitiveNames = [
  // These projections' results are used as exponents, in delta rules.
  ".in_proj_a.weight",
  ".in_proj_b.weight",
  // Rounding the router's weights could change which experts are chosen.
  ".mlp.gate.weight",
  ".mlp.router.weight",
  ".shared_expert_gate.weight",
];

function isSensitive({ name }: ParameterSpec): boolean {
  return sensitiveNames.some((end) => name.endsWith(end));
}

function weightFormFor(
  { name, shape }: ParameterSpec,
  tensor: StoredTensor,
  { config, quantization, kernels }: FormChoice & { readonly config: ModelConfig },
): WeightForm {
  if (quantization === "off" || kernels.codes === null) return "float32";
  if (quantization === "as-stored" && isPlainType(tensor.type)) return "float32";
  const use = weightUseFor(name, config);
  const isOutput = use.isLookedUp || name === "lm_head.weight";
  const isExact = hasFourBitBlocks(tensor);
  const wantsFour = quantization === "4" || (quantization === "as-stored" && isExact);
  const hasFour = kernels.fourBits && kernels.codes === promptCodes && !use.isStack;
  if (!wantsFour || !hasFour || isOutput || shape[1] % blockSize !== 0) return kernels.codes;
  // When Hone rounds a weight itself, its blocks have offsets. Blocks copied from Q4_0 have none.
  return isExact && tensor.type === "Q4_0" ? "int4" : "int4-offset";
}

const precisionOfForm: Readonly<Record<WeightForm, Precision>> = {
  float32: "float32",
  int8: "int8",
  uint8: "int8",
  int4: "int4",
  "int4-offset": "int4",
};

/** Returns the precision that most values of the projections' weights have. */
export function precisionOf(config: ModelConfig, forms: WeightForms): Precision {
  const counts: Record<Precision, number> = { float32: 0, int8: 0, int4: 0 };
  for (const parameter of modelParameters(config)) {
    const { name, shape } = parameter;
    if (!isMatrix(parameter) || weightUseFor(name, config).isLookedUp) continue;
    const form = forms.get(name) ?? "float32";
    counts[precisionOfForm[form]] += shape.reduce((product, size) => product * size, 1);
  }
  return (["float32", "int8", "int4"] as const).reduce((most, one) =>
    counts[one] > counts[most] ? one : most,
  );
}

/**
 * Returns the precision's display name, with the suffix `-as-stored` if the weights keep the precisions of their file;
 * undefined for float32.
 */
export function precisionLabel(
  config: ModelConfig,
  forms: WeightForms,
  quantization: Quantization,
): string | undefined {
  if (forms.size === 0) return undefined;
  const precision = precisionOf(config, forms);
  return quantization === "as-stored" ? `${precision}-as-stored` : precision;
}
