// Estimates the memory that training on one sequence needs, so that people can choose a model before they submit a job.
import { projectionNames } from "../../../base/domain/model.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import { layoutOf } from "../packing/pack-layout.ts";
import { cutIntoPacks } from "../packing/packs.ts";
import { ungrouped } from "../packing/prefix-groups.ts";
import { trainingSettings } from "../settings.ts";
import { type Economy, economies, estimateMemory } from "./memory-limit.ts";
import { buildGradientGraph, buildLogprobGraph } from "./training-graphs.ts";

/**
 * Estimates the peak memory in bytes of a job that trains on sequences of `tokenCount` tokens, one at a time. The
 * adapter has the default rank. Like a job, the estimate saves memory until it is at most `limitBytes`.
 *
 * @param int8Forms storage forms of the base model's weights for a job in 8 bits; empty for a job in float32
 * @returns the smallest possible estimate if none is at most `limitBytes`
 */
export function sequenceTrainingBytes(
  config: ModelConfig,
  tokenCount: number,
  int8Forms: WeightForms,
  limitBytes = Infinity,
): number {
  let bytes = Infinity;
  for (const economy of economies) {
    if (economy.streamsWeights && int8Forms.size > 0) break;
    bytes = estimateWith(economy, config, tokenCount, int8Forms);
    if (bytes <= limitBytes) break;
  }
  return bytes;
}

function estimateWith(
  { recomputesProducts, streamsWeights }: Economy,
  config: ModelConfig,
  tokenCount: number,
  int8Forms: WeightForms,
): number {
  // The scale of an adapter does not change the memory.
  const adapter = { rank: trainingSettings.with().loraRank, scale: 1, targets: projectionNames };
  const loss = { kind: "cross-entropy" } as const;
  const graphs = [
    buildGradientGraph(config, { adapter, layout: "list", loss, recomputesProducts }, int8Forms),
    buildLogprobGraph(config, { adapter, layout: "list" }, int8Forms),
  ];
  const sequence = {
    tokenIds: new Int32Array(tokenCount),
    mask: new Uint8Array(tokenCount).fill(1, 1),
    oldLogprobs: new Float32Array(tokenCount),
    advantage: 1,
    weight: 1,
    group: 0,
  };
  const [pack] = cutIntoPacks(ungrouped([sequence]), tokenCount);
  const base = int8Forms.size === 0 ? { config, adapter, streamsWeights } : { config, adapter, int8Forms };
  return estimateMemory(base, [{ graphs, largest: [[layoutOf(pack)]] }]).bytes;
}
