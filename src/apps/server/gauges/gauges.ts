// Gauges of the server's components, such as queues and caches with their limits. They are read at each scrape.
import type { Engine, EngineGauge, EngineStatus } from "../../../base/domain/generation.ts";
import type { BaseModel } from "../../../base/domain/model.ts";
import { childrenUsage, type ProcessUsage } from "../../../base/processes/children-usage.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";

interface Base {
  readonly model: Pick<BaseModel, "name">;
  readonly engine: Pick<Engine, "status">;
  readonly texts: { readonly waitingCount: number };
}

interface GaugeSources {
  readonly bases: readonly Base[];
  readonly memory: { readonly bytes: number; readonly bytesMax: number; readonly waitingCount: number };
  readonly jobQueue: { status(): { readonly runningCount: number; readonly watcherCount: number } };
}

/** Registers the gauges. */
export function exposeGauges(metrics: Metrics, { bases, memory, jobQueue }: GaugeSources): void {
  exposeMemory(metrics, memory);
  const perEngine = (name: string, help: string, read: (status: EngineStatus) => number): void =>
    metrics.gauge({ name, help, labels: ["base_model"] }, () =>
      bases.map((base) => ({ labels: { base_model: base.model.name }, value: read(base.engine.status()) })),
    );
  perEngine("hone_engine_ready", "1 while the engine answers.", ({ state }) =>
    state.kind === "ready" ? 1 : 0,
  );
  perEngine("hone_engine_requests_running", "Running requests.", (status) => status.runningCount);
  perEngine(
    "hone_engine_requests_waiting",
    "Requests that wait until the engine has capacity for them.",
    (status) => status.waitingCount,
  );
  perEngine(
    "hone_engine_requests_waiting_max",
    "Maximum number of requests that may wait until the engine has capacity for them.",
    (status) => status.waitingCountMax,
  );
  metrics.gauge(
    { name: "hone_chat_prompts_waiting", help: "Prompts waiting to be rendered.", labels: ["base_model"] },
    () =>
      bases.map(({ model, texts }) => ({
        labels: { base_model: model.name },
        value: texts.waitingCount,
      })),
  );
  exposeOwnGauges(metrics, bases);
  metrics.gauge({ name: "hone_training_jobs_running", help: "Running training jobs." }, () => [
    { value: jobQueue.status().runningCount },
  ]);
  metrics.gauge({ name: "hone_job_event_streams", help: "Open streams of training job events." }, () => [
    { value: jobQueue.status().watcherCount },
  ]);
  exposeProcesses(metrics);
}

/** Exposes the memory of all loaded base models, and the number of requests that wait for a model to be loaded. */
function exposeMemory(metrics: Metrics, memory: GaugeSources["memory"]): void {
  metrics.gauge(
    {
      name: "hone_model_memory_bytes",
      help: "Estimate of the most memory that the loaded base models can use, in bytes.",
    },
    () => [{ value: memory.bytes }],
  );
  metrics.gauge(
    {
      name: "hone_model_memory_bytes_max",
      help: "Limit of hone_model_memory_bytes. The metric is absent if no limit is set.",
    },
    () => (memory.bytesMax === Infinity ? [] : [{ value: memory.bytesMax }]),
  );
  metrics.gauge(
    { name: "hone_model_requests_waiting", help: "Requests waiting for a base model to be loaded." },
    () => [{ value: memory.waitingCount }],
  );
}

/** Names of child processes in metrics, by the module that each runs. */
const processNames: Readonly<Record<string, string>> = {
  "embedded-main": "engine",
  "child-main": "training",
  "task-program": "tasks",
};

/**
 * Exposes memory and CPU time of child processes. For the server's own process, Node.js's usual metrics exist, such as
 * process_resident_memory_bytes.
 */
function exposeProcesses(metrics: Metrics): void {
  const perProcess = (name: string, help: string, read: (usage: ProcessUsage) => number): void =>
    metrics.gauge({ name, help, labels: ["process", "pid"] }, () =>
      childrenUsage().map((usage) => ({
        labels: { process: processNames[usage.module] ?? usage.module, pid: String(usage.id) },
        value: read(usage),
      })),
    );
  perProcess(
    "hone_process_memory_bytes",
    "Memory of the server's child processes, without mapped files; on Linux.",
    ({ memoryBytes }) => memoryBytes,
  );
  perProcess(
    "hone_process_cpu_seconds",
    "CPU time of the server's child processes; on Linux.",
    ({ cpuSeconds }) => cpuSeconds,
  );
}

/**
 * Exposes the gauges that each kind of engine defines, and a gauge with the suffix `_max` for each limit. Engines of
 * the same kind share a metric and differ by the label `base_model`.
 */
function exposeOwnGauges(metrics: Metrics, bases: readonly Base[]): void {
  const samples = (name: string, read: (gauge: EngineGauge) => number | null) => () =>
    bases.flatMap(({ model, engine }) =>
      engine
        .status()
        .gauges()
        .flatMap((gauge) => {
          const value = gauge.name === name ? read(gauge) : null;
          return value === null ? [] : [{ labels: { base_model: model.name, ...gauge.labels }, value }];
        }),
    );
  const all = bases.flatMap(({ engine }) => engine.status().gauges());
  for (const gauge of new Map(all.map((one) => [one.name, one])).values()) {
    const { name, limit, about, labels = {}, isTotal = false } = gauge;
    const metric = {
      name: `hone_engine_${name}`,
      help: about,
      labels: ["base_model", ...Object.keys(labels)],
    };
    const values = samples(name, ({ value }) => value);
    if (isTotal) metrics.countedElsewhere(metric, values);
    else metrics.gauge(metric, values);
    if (limit === null) continue;
    const bound = { ...metric, name: `${metric.name}_max`, help: `The limit of ${metric.name}.` };
    metrics.gauge(
      bound,
      samples(name, (own) => own.limit),
    );
  }
}
