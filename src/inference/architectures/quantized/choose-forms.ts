// Which weights of a model are computed with in how many bits: as its file has them, or as the operator says, as far as the
// machine has exact kernels. Norms and biases are float32 always: they are few, and every token goes through them.
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { hasFourBitBlocks } from "../../../lib/model-files/gguf/four-bit-blocks.ts";
import { isPlainType, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { ModelConfig } from "../config.ts";
import { modelParameters, type ParameterSpec } from "../parameters.ts";
import {
  blockSize,
  promptCodes,
  useOf,
  type Precision,
  type WeightForm,
  type WeightForms,
} from "./weight-forms.ts";

/** Inputs of the choice besides the model. */
export interface FormChoice {
  readonly quantization: Quantization;
  readonly kernels: IntegerKernels;
}

/**
 * The form of each weight.
 *
 * As stored, four bits are taken exactly from the types that blocks of 32 can hold (Q4_0, Q4_1, Q4_K); every other quantized
 * type becomes 8 bits, which lose little of what it has; float32 and 16 bits stay floating point. The embedding and the
 * output projection, which every score goes through, have 8 bits where the others have fewer. A machine without a kernel that
 * keeps a row the same in any batch takes the next form that has one: 8 bits for 4, float32 for 8.
 *
 * @param stored by the names of the model's parameters
 */
export function chooseForms(
  config: ModelConfig,
  stored: ReadonlyMap<string, StoredTensor>,
  { quantization, kernels }: FormChoice,
): WeightForms {
  return new Map(
    modelParameters(config).flatMap((parameter) => {
      const tensor = stored.get(parameter.name);
      if (parameter.shape.length !== 2 || tensor === undefined) return [];
      const form = formOf(parameter, tensor, { config, quantization, kernels });
      return form === "float32" ? [] : [[parameter.name, form] as const];
    }),
  );
}

function formOf(
  { name, shape }: ParameterSpec,
  tensor: StoredTensor,
  { config, quantization, kernels }: FormChoice & { readonly config: ModelConfig },
): WeightForm {
  if (quantization === "off" || kernels.codes === null) return "float32";
  if (quantization === "as-stored" && isPlainType(tensor.type)) return "float32";
  const use = useOf(name, config);
  const isOutput = use.isLookedUp || name === "lm_head.weight";
  const isExact = hasFourBitBlocks(tensor);
  const wantsFour = quantization === "4" || (quantization === "as-stored" && isExact);
  const hasFour = kernels.fourBits && kernels.codes === promptCodes;
  if (!wantsFour || !hasFour || isOutput || shape[1] % blockSize !== 0) return kernels.codes;
  // What is rounded here is so with an offset; of a type without one there is none.
  return isExact && tensor.type === "Q4_0" ? "int4" : "int4-offset";
}

const precisionOfForm: Readonly<Record<WeightForm, Precision>> = {
  float32: "float32",
  int8: "int8",
  uint8: "int8",
  int4: "int4",
  "int4-offset": "int4",
};

/** How many bits most weights of the projections have. */
export function precisionOf(config: ModelConfig, forms: WeightForms): Precision {
  const counts: Record<Precision, number> = { float32: 0, int8: 0, int4: 0 };
  for (const { name, shape } of modelParameters(config)) {
    if (shape.length !== 2 || useOf(name, config).isLookedUp) continue;
    const form = forms.get(name) ?? "float32";
    counts[precisionOfForm[form]] += shape[0] * shape[1];
  }
  return (["float32", "int8", "int4"] as const).reduce((most, one) =>
    counts[one] > counts[most] ? one : most,
  );
}

/** What engines call the precision in which they compute; undefined for float32. What is mixed in a file has its own name. */
export function precisionLabel(
  config: ModelConfig,
  forms: WeightForms,
  quantization: Quantization,
): string | undefined {
  if (forms.size === 0) return undefined;
  const precision = precisionOf(config, forms);
  return quantization === "as-stored" ? `${precision}-as-stored` : precision;
}
