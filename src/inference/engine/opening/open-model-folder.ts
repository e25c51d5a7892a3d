// Opens a model folder: loads the model, so that it is ready to compute.
import { realpathSync } from "node:fs";
import { systemClock } from "../../../base/domain/clock.ts";
import { everyKernel, type IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { baseHashes } from "../../architectures/hashes/base-hashes.ts";
import { keptBytes } from "../../architectures/quantized/weight-forms.ts";
import { mayBeRounded, openQuantizedWeights, type ReadWeightsOptions } from "../../architectures/weights.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { OpenModel } from "../loop-engine.ts";
import type { ModelOpening } from "./model-opening.ts";

/**
 * Like {@link openModelFolder}, but writes nothing. Returns null if the model cannot be opened without writing to the
 * cache, or at all.
 */
export async function openCachedModel(opening: ModelOpening): Promise<OpenModel | null> {
  return open(opening, { isReadOnly: true }).catch(() => null);
}

/**
 * Opens a model folder. At a first start, the weights may be arranged in idle time afterwards, if the available memory
 * is at least twice the private copy that the engine may have meanwhile.
 *
 * @param availableBytes memory that this process can take
 * @throws ServiceError if the folder has no model that can be computed; details of unforeseen errors are only logged
 */
export async function openModelFolder(
  opening: ModelOpening,
  logger: Logger,
  availableBytes: number = process.availableMemory(),
): Promise<OpenModel> {
  const { modelFolder } = opening;
  try {
    const onProgress = (percent: number): void => {
      const next = percent < 100 ? "" : "; ONNX Runtime now arranges them, which can take longer";
      logger.info(
        { modelFolder, percent },
        `first start: ${percent} % of the model's weights are converted${next}`,
      );
    };
    const onLateFailure = (error: unknown): void =>
      logger.error(
        { err: error, modelFolder },
        "the model's weights could not be arranged; until the next start, answers are slower, or the weights take twice as much memory",
      );
    return await open(opening, { isReadOnly: false, onProgress, onLateFailure, availableBytes });
  } catch (error) {
    logger.error({ err: error, modelFolder }, "the model cannot be loaded");
    if (error instanceof ServiceError) throw error;
    throw new ServiceError({
      code: "internal",
      message: `The model in ${modelFolder} cannot be loaded; the log says why.`,
    });
  }
}

/**
 * Maximum share of the available memory that a private copy of a model's weights may take, until the weights are
 * arranged in idle time. The rest is for keys, values and results, since the system cannot reclaim the private copy.
 */
const privateShareMax = 0.5;

interface OpenOptions extends Pick<ReadWeightsOptions, "onProgress"> {
  /** If true, writes no cache, and throws if cached data is missing. */
  readonly isReadOnly: boolean;
  /** Called if weights that are arranged after the start cannot be arranged. */
  readonly onLateFailure?: (error: unknown) => void;
  /** Memory that this process can take; absent if weights must not be arranged after the start. */
  readonly availableBytes?: number;
}

async function open(
  opening: ModelOpening,
  { isReadOnly, onProgress, onLateFailure, availableBytes = 0 }: OpenOptions,
): Promise<OpenModel> {
  const { modelFolder, cacheFolder, quantization, contextLengthMax } = opening;
  const { threads, adapterCountMax, device, draftTokensMax, preparesAhead } = opening;
  // The configuration is read first: if the folder contains no model, its error message says so.
  const stored = readModelConfig(modelFolder);
  const config = { ...stored, contextLength: Math.min(stored.contextLength, contextLengthMax) };
  const cache = { cacheFolder, isReadOnly, onProgress, sharesTables: true };
  const kernels = await kernelsFor(opening, { isReadOnly });
  // At a first start, the files are hashed while other threads convert them. The conversion checks the files when it is
  // called, so its error comes first.
  const [{ sources, forms }, { weights }] = await Promise.all([
    openQuantizedWeights(modelFolder, config, { ...cache, quantization, kernels, threads }),
    baseHashes(modelFolder, cacheFolder, { isReadOnly }),
  ]);
  const mayBeLate = keptBytes(config, forms) <= privateShareMax * availableBytes;
  const runner = await createGraphRunner({
    config,
    weights: sources,
    forms,
    threads,
    device,
    adapterCountMax,
    clock: systemClock,
    preparesAhead,
    // Drafts need a device on which a row's results do not depend on the other rows of its batch; on any other device,
    // drafts would change answers. Only the CPU guarantees this independence.
    takesDrafts: draftTokensMax > 0 && device === "cpu",
    weightsHash: weights,
    arrangedCache: {
      folder: cacheFolder,
      model: realpathSync(modelFolder),
      weightsHash: weights,
      isReadOnly,
      ...(mayBeLate && { onLateFailure }),
    },
  });
  return { runner, weights };
}

/**
 * Measures the processor's kernels for quantized weights. Skipped if all weights are float32, which need no
 * measurement.
 */
async function kernelsFor(
  { modelFolder, cacheFolder, quantization }: ModelOpening,
  { isReadOnly }: { readonly isReadOnly: boolean },
): Promise<IntegerKernels> {
  return mayBeRounded(modelFolder, quantization)
    ? await integerKernels(cacheFolder, { isReadOnly })
    : everyKernel;
}
