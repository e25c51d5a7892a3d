// Extracts the figures that `hone top` shows from a server's metrics and states. Pure.
import { type MetricSamples, sumOf } from "./read-metrics.ts";

/** A quantity and its limit; each is null if the server does not report it. */
export interface Usage {
  readonly value: number | null;
  readonly max: number | null;
}

/** Counters, which only grow while a server runs. */
export interface Totals {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /**
   * Number of ended chat requests, and the number of failed ones among them. Aborted requests count as ended but not
   * as failed.
   */
  readonly requests: number;
  readonly failures: number;
  /** Sum of the requests' times to first output in seconds, and the number of requests in the sum. */
  readonly firstOutputSeconds: number;
  readonly firstOutputs: number;
  /** CPU time in seconds of each process, by the key of `processKey`. */
  readonly cpuSeconds: ReadonlyMap<string, number>;
}

export interface BaseReading {
  readonly name: string;
  /** State such as `loaded`, with its reason if there is one. */
  readonly state: string;
  readonly running: number;
  readonly waiting: number;
  readonly keyValueBytes: Usage;
  readonly slots: Usage;
  readonly prefixBytes: Usage;
}

export interface ProcessReading {
  /** Kind of process, such as `engine`; `server` for the main process. */
  readonly name: string;
  /** Id of the process; null for the main process. */
  readonly id: string | null;
  readonly memoryBytes: number;
}

export interface Reading {
  readonly totals: Totals;
  readonly running: number;
  readonly waiting: Usage;
  readonly promptsWaiting: number;
  /** HTTP requests in progress. */
  readonly inFlight: number;
  readonly connections: number;
  readonly jobStreams: number;
  readonly modelMemory: Usage;
  readonly modelWaiting: number;
  readonly bases: readonly BaseReading[];
  readonly processes: readonly ProcessReading[];
}

/**
 * Returns the figures in a sample of metrics.
 *
 * @param states states of the base models by name, as reported by `/health`
 */
export function readingOf(samples: MetricSamples, states: Readonly<Record<string, string>>): Reading {
  const sum = (name: string): number => sumOf(samples, name) ?? 0;
  return {
    totals: totalsOf(samples),
    running: sum("hone_engine_requests_running"),
    waiting: useOf(samples, "hone_engine_requests_waiting"),
    promptsWaiting: sum("hone_chat_prompts_waiting"),
    inFlight: sum("hone_http_requests_in_flight"),
    connections: sum("hone_http_connections"),
    jobStreams: sum("hone_job_event_streams"),
    modelMemory: useOf(samples, "hone_model_memory_bytes"),
    modelWaiting: sum("hone_model_requests_waiting"),
    bases: Object.entries(states).map(([name, state]) => baseOf(samples, name, state)),
    processes: processesOf(samples),
  };
}

function useOf(samples: MetricSamples, name: string, labels: Readonly<Record<string, string>> = {}): Usage {
  return { value: sumOf(samples, name, labels), max: sumOf(samples, `${name}_max`, labels) };
}

function totalsOf(samples: MetricSamples): Totals {
  const sum = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
    sumOf(samples, name, labels) ?? 0;
  const requests = sum("hone_chat_requests_total");
  const unfailed = ["completed", "cancelled"].reduce(
    (count, outcome) => count + sum("hone_chat_requests_total", { outcome }),
    0,
  );
  const own = sumOf(samples, "process_cpu_seconds_total");
  const others = samples.get("hone_process_cpu_seconds") ?? [];
  return {
    promptTokens: sum("hone_chat_tokens_total", { kind: "prompt" }),
    cachedTokens: sum("hone_chat_tokens_total", { kind: "cached" }),
    generatedTokens: sum("hone_chat_tokens_total", { kind: "completion" }),
    requests,
    failures: requests - unfailed,
    firstOutputSeconds: sum("hone_chat_first_output_seconds_sum"),
    firstOutputs: sum("hone_chat_first_output_seconds_count"),
    cpuSeconds: new Map([
      ...(own === null ? [] : [[processKey("server", null), own] as const]),
      ...others.map(
        ({ labels, value }) => [processKey(labels["process"] ?? "", labels["pid"] ?? null), value] as const,
      ),
    ]),
  };
}

/** Returns a key that identifies a process across samples. */
export function processKey(name: string, id: string | null): string {
  return `${name} ${id ?? ""}`;
}

function baseOf(samples: MetricSamples, name: string, state: string): BaseReading {
  const labels = { base_model: name };
  return {
    name,
    state,
    running: sumOf(samples, "hone_engine_requests_running", labels) ?? 0,
    waiting: sumOf(samples, "hone_engine_requests_waiting", labels) ?? 0,
    keyValueBytes: useOf(samples, "hone_engine_kv_cache_bytes", labels),
    slots: useOf(samples, "hone_engine_kv_cache_slots", labels),
    prefixBytes: useOf(samples, "hone_engine_prefix_cache_bytes", labels),
  };
}

function processesOf(samples: MetricSamples): readonly ProcessReading[] {
  const own = sumOf(samples, "process_resident_memory_bytes");
  return [
    ...(own === null ? [] : [{ name: "server", id: null, memoryBytes: own }]),
    ...(samples.get("hone_process_memory_bytes") ?? []).map(({ labels, value }) => ({
      name: labels["process"] ?? "",
      id: labels["pid"] ?? null,
      memoryBytes: value,
    })),
  ];
}
