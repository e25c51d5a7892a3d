// Examines the models to serve: whether each can be served, and whether they fit in memory together. Reads only their
// small files.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IntegerKernels } from "../../../base/domain/kernels/integer-kernels.ts";
import type { BaseModel, Quantization } from "../../../base/domain/model.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { engineMemory, type EngineMemory } from "../../../inference/engine/model-swapping/memory-need.ts";
import { engineSettings } from "../../../inference/engine/settings.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { listBaseModels } from "../../../inference/models/registry/base-models.ts";
import type { NamedBase } from "../../../inference/models/registry/named-base.ts";
import type { HoneConfig } from "../config.ts";
import { largestKnown } from "../model-fit/fit-models.ts";
import { addedBases } from "../library/added-models.ts";
import { computedAs } from "../model-check/computed-as.ts";
import { builtInModel } from "../package.ts";
import { fault, ok, reasonOf, warning, type Finding } from "./finding.ts";

/** The machine that would serve the models. */
export interface ModelMachine {
  readonly memoryBytes: number;
  readonly kernels: IntegerKernels;
}

export function modelFindings(config: HoneConfig, machine: ModelMachine): readonly Finding[] {
  // Temporary folder for the files that are extracted from a GGUF file.
  const folder = mkdtempSync(join(tmpdir(), "hone-doctor-"));
  try {
    return findingsWithin(folder, config, machine);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function findingsWithin(
  folder: string,
  config: HoneConfig,
  { memoryBytes, kernels }: ModelMachine,
): readonly Finding[] {
  const { data, model: named, defaultModel, quantize: quantization, builtInModel: builtIn } = config.server;
  let models: readonly NamedBase[];
  try {
    models = listBaseModels(
      {
        named,
        defaultModel,
        added: addedBases(data),
        folderOfFile: (file) => ensureGgufFolder(file, folder),
        quantization,
      },
      builtIn === "on" ? builtInModel() : null,
    );
  } catch (error) {
    const cure =
      "`hone models added` lists added models; --model names folders, GGUF files, and added models.";
    return [fault("models", reasonOf(error), cure)];
  }
  const limits = { memoryBytes, limitBytes: config.models.memoryBytes || Infinity };
  const needs: EngineMemory[] = [];
  const findings = models.map((model) => {
    try {
      if (model.fault !== undefined) throw model.fault;
      const need = memoryOf(model, config, kernels);
      if (need === null)
        return ok(`model ${model.name}`, "is computed by vLLM servers, and takes no memory on this machine");
      needs.push(need);
      const precision = computedAs(model.folder, quantizationOf(model), kernels);
      return modelFinding(model.name, { ...need, precision }, limits);
    } catch (error) {
      return fault(
        `model ${model.name}`,
        reasonOf(error),
        "docs/guides/models.md says which models are served; `hone models check` examines one.",
      );
    }
  });
  return needs.length < 2 ? findings : [...findings, togetherFinding(needs, limits)];
}

/** Names the largest published models that suit the machine. */
export function knownModelsFinding({ memoryBytes, kernels }: ModelMachine): Finding {
  const { served, trained } = largestKnown(memoryBytes, kernels);
  const names =
    served === null
      ? "none of the known models fits into memory"
      : `the largest known models that fit into memory are ${served} to serve and ${trained ?? "none"} to train`;
  return ok("sizes", `${names}; \`hone models fit\` estimates each one`);
}

/** Returns the memory that a model needs; null if other servers compute it. */
function memoryOf(
  { folder, engine }: BaseModel,
  { engine: settings }: HoneConfig,
  kernels: IntegerKernels,
): EngineMemory | null {
  if (engine.kind !== "embedded") return null;
  const quantization = quantizationOf({ engine });
  return engineMemory({ folder, quantization, kernels }, engineSettings.with(settings));
}

function quantizationOf({ engine }: Pick<BaseModel, "engine">): Quantization {
  return (engine.kind === "embedded" ? engine.quantization : undefined) ?? "off";
}

interface MemoryLimits {
  readonly memoryBytes: number;
  /** The operator's memory limit for all base models together, in bytes; `Infinity` without a limit. */
  readonly limitBytes: number;
}

const smaller =
  "Use fewer bits for its weights (--quantize 4), shorten --engine-context-length-max, or use a smaller model";

function modelFinding(
  name: string,
  { bytes, keyValueBytes, precision }: EngineMemory & { readonly precision: string },
  { memoryBytes, limitBytes }: MemoryLimits,
): Finding {
  const check = `model ${name}`;
  const own = bytes - keyValueBytes;
  const message = `is computed in ${precision}, takes up to ${sizeText(own)}, and ${sizeText(keyValueBytes)} for the KV cache`;
  if (own > memoryBytes)
    return fault(
      check,
      `${message}, of ${sizeText(memoryBytes)} in total`,
      `${smaller}, or a larger machine.`,
    );
  if (bytes > limitBytes)
    return fault(
      check,
      `${message}, which are more than --models-memory-bytes ${limitBytes}`,
      `Raise that setting. ${smaller}.`,
    );
  return bytes > memoryBytes
    ? warning(
        check,
        `${message}, of ${sizeText(memoryBytes)} in total: many concurrent requests could use all of it`,
        "Lower --engine-kv-cache-bytes-max.",
      )
    : ok(check, message);
}

function togetherFinding(needs: readonly EngineMemory[], { memoryBytes, limitBytes }: MemoryLimits): Finding {
  const bytes = needs.reduce((sum, need) => sum + need.bytes, 0);
  const message = `${needs.length} models take up to ${sizeText(bytes)} together, of ${sizeText(memoryBytes)}`;
  if (bytes <= Math.min(memoryBytes, limitBytes)) return ok("models", message);
  if (limitBytes <= memoryBytes)
    return ok("models", `${message}; those beyond ${sizeText(limitBytes)} are loaded on demand`);
  return warning(
    "models",
    message,
    "Set --models-memory-bytes below the machine's memory, so that models are loaded on demand.",
  );
}
