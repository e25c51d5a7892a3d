// Describes a model, its size in each precision, and the error of its quantized weights against float32 on a sample
// text. Needs no server: it reads the model's files and computes in the calling process.
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { availableParallelism } from "node:os";
import { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { IntegerKernels, KernelMeasurement } from "../../../base/domain/kernels/integer-kernels.ts";
import { quantizations, type Quantization } from "../../../base/domain/model.ts";
import {
  compareModels,
  windowTokens,
  type ModelComparison,
} from "../../../inference/engine/comparison/compare-models.ts";
import { readFolderLicense, readGgufLicense } from "../../../inference/models/library/licenses.ts";
import { isModelPath } from "../../../inference/models/library/model-path.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { weightFilesOf } from "../../../lib/model-files/weight-files.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { readModelConfig } from "../../../inference/architectures/config/read-config.ts";
import { countParameters, modelParameters } from "../../../inference/architectures/parameters.ts";
import { isMatrix, precisionLabel } from "../../../inference/architectures/quantized/choose-forms.ts";
import {
  keptBytes,
  type WeightForm,
  type WeightForms,
} from "../../../inference/architectures/quantized/weight-forms.ts";
import { readForms, readQuantizedWeights } from "../../../inference/architectures/weights.ts";
import { integerKernels } from "../../../inference/onnx/integer-kernels.ts";
import { addedOf, listBaseModels } from "../../../inference/models/registry/base-models.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { readClientSettings } from "../config.ts";
import { addedBases } from "../library/added-models.ts";
import { sampleText } from "./sample-text.ts";

/** Facts from the model's files, which need no computation. */
export interface CheckedModel {
  readonly name: string;
  /** Architecture in the spelling of the model's configuration, such as `LlamaForCausalLM`. */
  readonly family: string;
  readonly license: string | null;
  readonly parameterCount: number;
  readonly layerCount: number;
  readonly width: number;
  readonly vocabularySize: number;
  readonly contextLength: number;
  readonly fileBytes: number;
}

/** The model's weights in one precision. */
export interface CheckedPrecision {
  readonly quantize: Quantization;
  /** Name of the precision, as in fingerprints. */
  readonly precision: string;
  /**
   * Size of the computed weights in bytes. With 4 bits, it includes a second copy of the weights in 8 bits, with which
   * prompts are computed.
   */
  readonly weightBytes: number;
  /** Number of weight matrices in each form, such as float32 or 8-bit codes. */
  readonly forms: Readonly<Record<WeightForm, number>>;
  /** Names of the weight matrices that have more bits per weight than most others. */
  readonly finer: readonly string[];
  /** Error against float32; null for float32 itself. */
  readonly comparison: ModelComparison | null;
}

export interface ModelCheck {
  readonly model: CheckedModel;
  readonly precisions: readonly CheckedPrecision[];
  /** This machine's kernels for quantized weights, with their measured speed. */
  readonly kernels: KernelMeasurement;
}

export interface CheckOptions {
  /** Path of the data folder; null to read it from the settings. */
  readonly data: string | null;
  readonly threads: number | null;
  /** The only precision to check; null (the default) to check all that differ for this model. */
  readonly quantize?: Quantization | null;
  /** Called with the name of each quantized precision before it is compared with float32. */
  readonly onCompare?: (precision: string) => void;
}

/**
 * Checks a model in each precision.
 *
 * @param named a folder, a GGUF file, or the name of an added model
 * @throws ServiceError if it is not a model that can be computed
 */
export async function checkModel(
  named: string,
  { data, threads, quantize: only = null, onCompare }: CheckOptions,
): Promise<ModelCheck> {
  const root = resolve(data ?? readClientSettings().data);
  const folders = new ServerFolder({ root, server: () => "model-check" });
  const added = addedBases(root);
  if (addedOf(named, added) === null) isModelPath(named);
  const [{ name, folder, license, fault }] = listBaseModels(
    {
      named: [named],
      defaultModel: null,
      added,
      folderOfFile: (file) => ensureGgufFolder(file, folders.cacheOf(file)),
      quantization: "off",
    },
    null,
  );
  if (fault !== undefined) throw fault;
  const config = readModelConfig(folder);
  const files = weightFilesOf(folder);
  const licenseOfFile = files.some((file) => file.endsWith(".gguf")) ? readGgufLicense(files[0]) : null;
  const model: CheckedModel = {
    name,
    family: familyOf(folder),
    license: license ?? readFolderLicense(folder) ?? licenseOfFile,
    parameterCount: countParameters(config),
    layerCount: config.layers.length,
    width: config.width,
    vocabularySize: config.vocabularySize,
    contextLength: config.contextLength,
    fileBytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
  };
  const tokenizer = await loadTokenizer(folder);
  const tokenIds = tokenizer.encode(sampleText, { addSpecialTokens: false });
  const precisions: CheckedPrecision[] = [];
  const kernels = await integerKernels(folders.cacheOf(folder));
  const ways = only === null ? quantizations : [only];
  for (const { quantize, forms } of distinctForms(folder, config, kernels, ways)) {
    const precision = precisionLabel(config, forms, quantize) ?? "float32";
    const facts = { quantize, precision, ...sizesOf(config, forms) };
    if (forms.size === 0) {
      precisions.push({ ...facts, comparison: null });
      continue;
    }
    onCompare?.(precision);
    // Shortens the context to the longest window of the comparison, because position tables grow with the context.
    const short = { ...config, contextLength: Math.min(config.contextLength, windowTokens) };
    const weightsOf = (quantization: Quantization) =>
      readQuantizedWeights(folder, short, { cacheFolder: folders.cacheOf(folder), quantization, kernels });
    const comparison = await compareModels(
      short,
      { reference: weightsOf("off"), other: weightsOf(quantize) },
      { tokenIds, threads: threads ?? availableParallelism() },
    );
    precisions.push({ ...facts, comparison });
  }
  return { model, precisions, kernels };
}

/**
 * Returns the distinct precisions in the order of `ways`. A precision that gives the same weight forms as an earlier
 * one is omitted, such as `as-stored` for weights stored as float32.
 */
function distinctForms(
  folder: string,
  config: ModelConfig,
  kernels: IntegerKernels,
  ways: readonly Quantization[],
): readonly { readonly quantize: Quantization; readonly forms: WeightForms }[] {
  const known = new Set<string>();
  return ways.flatMap((quantize) => {
    const forms = readForms(folder, config, { quantization: quantize, kernels });
    const key = JSON.stringify([...forms]);
    if (known.has(key)) return [];
    known.add(key);
    return [{ quantize, forms }];
  });
}

const bitsOf: { readonly [Form in WeightForm]: number } = {
  float32: 32,
  int8: 8,
  uint8: 8,
  "int4-offset": 5,
  int4: 4,
};

function sizesOf(
  config: ModelConfig,
  forms: WeightForms,
): Pick<CheckedPrecision, "weightBytes" | "forms" | "finer"> {
  const counts: Record<WeightForm, number> = {
    float32: 0,
    int8: 0,
    uint8: 0,
    int4: 0,
    "int4-offset": 0,
  };
  const matrices = modelParameters(config).filter(isMatrix);
  for (const { name } of matrices) counts[forms.get(name) ?? "float32"]++;
  const most = (Object.keys(counts) as WeightForm[]).reduce((one, other) =>
    counts[other] > counts[one] ? other : one,
  );
  const isFiner = (form: WeightForm): boolean => bitsOf[form] > Math.max(bitsOf[most], 5);
  const finer = matrices.flatMap(({ name }) => (isFiner(forms.get(name) ?? "float32") ? [name] : []));
  return { weightBytes: keptBytes(config, forms), forms: counts, finer };
}

function familyOf(folder: string): string {
  // Safe cast: the file was validated when the model was read.
  const { architectures, model_type: type } = JSON.parse(
    readFileSync(join(folder, "config.json"), "utf8"),
  ) as {
    readonly architectures?: readonly string[];
    readonly model_type?: string;
  };
  return architectures?.[0] ?? type ?? "unknown";
}
