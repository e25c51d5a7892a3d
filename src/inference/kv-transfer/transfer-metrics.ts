// Metrics of prompts that are passed between servers.
import type { Metrics } from "../../base/telemetry/metrics.ts";

export interface TransferMetrics {
  /** Counts a finished transfer. `outcome` is `done`, `cancelled`, or the kind of a failure. */
  ended(direction: "sent" | "fetched", outcome: string): void;
  moved(direction: "sent" | "fetched", bytes: number): void;
  took(seconds: number): void;
}

/**
 * Registers the metrics. Must be called once per registry.
 *
 * @param fetching returns the number of prompts that are being fetched; called at each scrape
 */
export function createTransferMetrics(metrics: Metrics, fetching: () => number): TransferMetrics {
  const transfers = metrics.counter({
    name: "hone_kv_transfers_total",
    help: "Prompts sent to and fetched from other servers, by outcome.",
    labels: ["direction", "outcome"],
  });
  const bytes = metrics.counter({
    name: "hone_kv_transfer_bytes_total",
    help: "Bytes of prompts passed between servers.",
    labels: ["direction"],
  });
  const duration = metrics.histogram({
    name: "hone_kv_transfer_seconds",
    help: "Time to fetch a prompt.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  metrics.gauge({ name: "hone_kv_transfers_fetching", help: "Requests waiting for their prompts." }, () => [
    { value: fetching() },
  ]);
  return {
    ended: (direction, outcome) => transfers.increase({ direction, outcome }),
    moved: (direction, count) => bytes.increase({ direction }, count),
    took: (seconds) => duration.observe(seconds),
  };
}
