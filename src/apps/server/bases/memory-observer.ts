// Logs and counts loads and evictions of base models.
import type { MemoryObserver } from "../../../inference/engine/model-swapping/model-memory.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";

const secondsBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Registers the metrics, so it may be called only once per metrics registry. */
export function memoryObserver(metrics: Metrics, logger: Logger, bases: readonly string[]): MemoryObserver {
  const loads = metrics.counter({
    name: "hone_model_loads_total",
    help: "Loads of base models, by outcome: `loaded` or `failed`.",
    labels: ["base_model", "outcome"],
    known: bases.flatMap((base_model) => ["loaded", "failed"].map((outcome) => ({ base_model, outcome }))),
  });
  const unloads = metrics.counter({
    name: "hone_model_unloads_total",
    help: "Evictions of base models: because they were `idle`, to make `room` for another, or because an administrator `asked`.",
    labels: ["base_model", "reason"],
  });
  const seconds = metrics.histogram({
    name: "hone_model_load_seconds",
    help: "Time to load a base model.",
    labels: ["base_model"],
    buckets: secondsBuckets,
  });
  return {
    loaded: (name, durationMs) => {
      loads.increase({ base_model: name, outcome: "loaded" });
      seconds.observe(durationMs / 1000, { base_model: name });
      logger.info({ model: name, durationMs: Math.round(durationMs) }, `${name}: loaded`);
    },
    loadFailed: (name, error) => {
      loads.increase({ base_model: name, outcome: "failed" });
      const reason = error instanceof Error ? error.message : String(error);
      logger.error({ err: error, model: name }, `The model ${name} could not be loaded: ${reason}`);
    },
    unloaded: (name, why) => {
      unloads.increase({ base_model: name, reason: why });
      logger.info({ model: name, why }, `${name}: evicted`);
    },
  };
}
