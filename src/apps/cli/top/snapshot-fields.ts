// Converts a sample to the JSON object that `hone top --json` prints.
import type { Rates } from "./rates.ts";
import { processKey, type Usage } from "./readings.ts";
import type { Snapshot } from "./snapshot.ts";

/** Rates are per second, and null for the first sample; memory sizes are in bytes. */
export function snapshotFields(
  { at, url, version, state, reason, reading, jobs }: Snapshot,
  rates: Rates | null,
) {
  return {
    at: at.toISOString(),
    url,
    version,
    state,
    reason,
    rates: rates && {
      prompt_tokens: rates.promptTokens,
      generated_tokens: rates.generatedTokens,
      requests: rates.requests,
      failures: rates.failures,
      prefix_hit_share: rates.prefixHitShare,
      first_output_seconds: rates.firstOutputSeconds,
    },
    totals: {
      prompt_tokens: reading.totals.promptTokens,
      cached_tokens: reading.totals.cachedTokens,
      generated_tokens: reading.totals.generatedTokens,
      requests: reading.totals.requests,
      failures: reading.totals.failures,
    },
    queue: {
      running: reading.running,
      waiting: reading.waiting.value ?? 0,
      waiting_max: reading.waiting.max,
      prompts_waiting: reading.promptsWaiting,
      in_flight: reading.inFlight,
      connections: reading.connections,
      job_streams: reading.jobStreams,
      waiting_for_models: reading.modelWaiting,
    },
    model_memory: useFields(reading.modelMemory),
    base_models: reading.bases.map((base) => ({
      name: base.name,
      state: base.state,
      running: base.running,
      waiting: base.waiting,
      kv_cache: useFields(base.keyValueBytes),
      slots: useFields(base.slots),
      prefix_cache: useFields(base.prefixBytes),
    })),
    processes: reading.processes.map(({ name, id, memoryBytes }) => ({
      name,
      id: id === null ? null : Number(id),
      memory_bytes: memoryBytes,
      cpu_share: rates?.cpuShares.get(processKey(name, id)) ?? null,
    })),
    jobs:
      jobs?.map((job) => ({
        id: job.id,
        model: job.model,
        kind: job.kind,
        state: job.state,
        progress: job.progress,
        seconds_left: job.secondsLeft,
        waiting_for: job.waitingFor,
      })) ?? null,
  };
}

function useFields({ value, max }: Usage) {
  return { value, max };
}
