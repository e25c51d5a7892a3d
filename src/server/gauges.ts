// What the server measures of its parts at each scrape: every queue and cache with its limit beside it.
import type { EngineStatus } from "../domain/generation.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { EngineBase } from "./served-bases.ts";

interface Parts {
  readonly bases: readonly EngineBase[];
  readonly jobQueue: { status(): { readonly runningCount: number } };
}

/** Registers the gauges. */
export function exposeGauges(metrics: Metrics, { bases, jobQueue }: Parts): void {
  const perEngine = (name: string, help: string, read: (status: EngineStatus) => number): void =>
    metrics.gauge({ name, help, labels: ["base_model"] }, () =>
      bases.map((base) => ({ labels: { base_model: base.model.name }, value: read(base.engine.status()) })),
    );
  perEngine("hone_engine_ready", "1 while the engine answers.", (status) =>
    status.state === "ready" ? 1 : 0,
  );
  perEngine(
    "hone_engine_requests_running",
    "Requests whose tokens are being computed.",
    (status) => status.runningCount,
  );
  perEngine(
    "hone_engine_requests_waiting",
    "Requests that wait for a slot.",
    (status) => status.waitingCount,
  );
  perEngine(
    "hone_engine_requests_waiting_max",
    "Requests that may wait.",
    (status) => status.waitingCountMax,
  );
  perEngine("hone_engine_kv_cache_bytes", "Memory of keys and values.", (status) => status.kvCacheBytes);
  perEngine(
    "hone_engine_kv_cache_bytes_max",
    "Memory that keys and values may take.",
    (status) => status.kvCacheBytesMax,
  );
  perEngine(
    "hone_engine_restarts",
    "How often the engine's process was started again.",
    (status) => status.restartCount,
  );
  metrics.gauge({ name: "hone_training_jobs_running", help: "Training jobs that run." }, () => [
    { value: jobQueue.status().runningCount },
  ]);
}
