// Forms of stored weights (float32, 8 bits or 4 bits), and the tensors that each form consists of. `quantize.ts`
// computes these tensors; `../linear.ts` applies them.
import { unreachable } from "../../../base/domain/assert.ts";
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { DataType } from "../../../lib/graph/graph.ts";
import { byteLengthOf } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../config.ts";
import { isExpertStack } from "../experts/expert-parameters.ts";
import {
  embeddingName,
  layerEmbeddingName,
  modelParameters,
  outputProjection,
  type ParameterSpec,
} from "../parameters.ts";

/** Precision that a model's matrix products use for most weights. */
export type Precision = "float32" | "int8" | "int4";

/**
 * Form of one weight:
 * * `float32`: not quantized
 * * `int8`: signed 8-bit codes, with a scale for each row
 * * `uint8`: the codes of `int8` with 128 added
 * * `int4`: 4-bit codes in blocks of 32 along a row, with a scale for each block
 * * `int4-offset`: like `int4`, with an additional offset for each block
 */
export type WeightForm = "float32" | CodeType | "int4" | "int4-offset";

/** Type of 8-bit codes; see `IntegerKernels`. */
export type CodeType = NonNullable<IntegerKernels["codes"]>;

/** Forms by parameter name; parameters that are absent here are float32. */
export type WeightForms = ReadonlyMap<string, WeightForm>;

/**
 * One of the tensors that represent a weight in a graph. A float32 weight is a single tensor; a quantized weight
 * consists of several.
 */
export interface WeightPart extends ParameterSpec {
  readonly dtype: DataType;
  /** True if the rows of the weight are the columns of the tensor. */
  readonly isTransposed?: boolean;
}

/** Number of weights in a block of 4-bit codes. */
export const blockSize = 32;

/** Returns the names of the tensors that make up a quantized weight [N, K]. */
export function partNames(weight: string): {
  /** 8-bit codes [N, K], for looking up rows. */
  readonly rows: string;
  /** 8-bit codes [K, N], for products. */
  readonly columns: string;
  /** Row scales for the codes in `rows` and `columns`, float32 [N]. */
  readonly scales: string;
  /** Scales of the blocks in `codes`, float32 [N, K/32]. */
  readonly blockScales: string;
  /** 4-bit codes, uint8 [N, K/32, 16]. */
  readonly codes: string;
  /** Offset of each block, float32 [K/32, N], added to its scaled codes; only in the form `int4-offset`. */
  readonly offsets: string;
} {
  return {
    rows: `${weight}.rows`,
    columns: `${weight}.columns`,
    scales: `${weight}.scales`,
    blockScales: `${weight}.block_scales`,
    codes: `${weight}.codes`,
    offsets: `${weight}.offsets`,
  };
}

/**
 * How a graph uses a weight. The rows of an embedding are looked up, other weights are used in products, and the weight
 * of a tied embedding is used in both ways.
 */
export interface WeightUse {
  readonly isLookedUp: boolean;
  readonly isMultiplied: boolean;
  /** True for the weights of all experts of a layer, [E, N, K]. */
  readonly isStack: boolean;
  /** True for the weight whose product gives the logits: the output projection, or the embedding of a tied model. */
  readonly isOutput: boolean;
}

/** Returns how a model uses a weight. */
export function weightUseFor(name: string, config: ModelConfig): WeightUse {
  const isOutput = name === `${outputProjection(config).path}.weight`;
  const isLookedUp = name === embeddingName || name === layerEmbeddingName;
  return {
    isLookedUp,
    isMultiplied: !isLookedUp || isOutput,
    isStack: isExpertStack(name),
    isOutput,
  };
}

/**
 * Returns the weight forms for computing prompts, given the forms for decoded tokens. Kernels for 4 bits are made for
 * few rows; for the many rows of a prompt, 8 bits are about three times as fast.
 */
export function promptForms(forms: WeightForms): WeightForms {
  return new Map([...forms].map(([name, form]) => [name, isExpertStack(name) ? form : promptForm(form)]));
}

/** True for a form with 8-bit codes. */
export function isCodes(form: WeightForm): form is CodeType {
  return form === "int8" || form === "uint8";
}

/** Form in which 4-bit weights are used for prompts. */
export const promptCodes = "int8" satisfies CodeType;

/** Returns the form in which prompts use a weight; see {@link promptForms}. */
export function promptForm(form: WeightForm): WeightForm {
  return form === "int4" || form === "int4-offset" ? promptCodes : form;
}

/** Returns the tensors that make up a parameter in a given form. */
export function partsOf(
  { name, shape }: ParameterSpec,
  form: WeightForm,
  use: WeightUse,
): readonly WeightPart[] {
  // The weights of experts have an additional first axis; each tensor computed from them has this axis too.
  const [N, K] = shape.slice(-2);
  const stack = shape.slice(0, -2);
  const names = partNames(name);
  const blocks = K / blockSize;
  switch (form) {
    case "float32":
      return [{ name, dtype: "float32", shape }];
    case "int8":
    case "uint8":
      return [
        { name: names.scales, dtype: "float32", shape: [...stack, N] },
        ...(use.isLookedUp ? [{ name: names.rows, dtype: form, shape: [N, K] }] : []),
        ...(use.isMultiplied
          ? [{ name: names.columns, dtype: form, shape: [...stack, K, N], isTransposed: true }]
          : []),
      ];
    case "int4":
    case "int4-offset":
      return [
        { name: names.blockScales, dtype: "float32", shape: [N, blocks] },
        { name: names.codes, dtype: "uint8", shape: [N, blocks, blockSize / 2] },
        ...(form === "int4"
          ? []
          : [{ name: names.offsets, dtype: "float32" as const, shape: [blocks, N], isTransposed: true }]),
      ];
    default:
      return unreachable(form);
  }
}

/** Returns all tensors of a model with the given weight forms, in the order of the model's parameters. */
export function weightParts(config: ModelConfig, forms: WeightForms): readonly WeightPart[] {
  return partsWith(config, forms, (use) => use);
}

/** Like {@link weightParts}, but only the tensors that training needs: each 8-bit code once. */
export function trainedParts(config: ModelConfig, forms: WeightForms): readonly WeightPart[] {
  return partsWith(config, forms, (use) => ({ ...use, isLookedUp: use.isLookedUp && !use.isMultiplied }));
}

function partsWith(
  config: ModelConfig,
  forms: WeightForms,
  adjust: (use: WeightUse) => WeightUse,
): readonly WeightPart[] {
  return modelParameters(config).flatMap((parameter) => {
    const form = forms.get(parameter.name) ?? "float32";
    return partsOf(parameter, form, adjust(weightUseFor(parameter.name, config)));
  });
}

/**
 * Returns the tensors that a cache file holds for a parameter: those for decoded tokens, and any additional ones for
 * prompts.
 */
export function keptParts(parameter: ParameterSpec, form: WeightForm, use: WeightUse): readonly WeightPart[] {
  const inPrompts = promptForm(form);
  return [
    ...partsOf(parameter, form, use),
    ...(inPrompts === form ? [] : partsOf(parameter, inPrompts, use)),
  ];
}

/** Returns the total size in bytes of the tensors that a cache file holds for weights in these forms. */
export function keptBytes(config: ModelConfig, forms: WeightForms): number {
  return modelParameters(config)
    .flatMap((parameter) =>
      keptParts(parameter, forms.get(parameter.name) ?? "float32", weightUseFor(parameter.name, config)),
    )
    .reduce((sum, part) => sum + byteLengthOf(part), 0);
}

/** Returns the size in bytes of the weights in these forms that training maps into memory. */
export function trainedBytes(config: ModelConfig, forms: WeightForms): number {
  return trainedParts(config, forms).reduce((sum, part) => sum + byteLengthOf(part), 0);
}
