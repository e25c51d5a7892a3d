// State of the server for its summary. All clients share one snapshot, so that many open dashboards cost the server no
// more than one.
import type { Clock } from "../../../../base/domain/clock.ts";
import type { MetricReading } from "../../../../base/telemetry/metrics.ts";
import { baseMetrics, type BaseMetric } from "../../../wire/summary/server-summary.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { checkParts, healthOf } from "../health.ts";

/** Times in milliseconds for which the server reuses the last metrics, and the last check of its parts. */
const [metricsMs, partsMs] = [1500, 10_000];

const memory = "hone_model_memory_bytes";
const names = [...Object.values(baseMetrics).map(({ metric }) => metric), memory, `${memory}_max`];

/** Returns a function that reads the state of the server. */
export function serverStateOf(dependencies: HttpDependencies): () => Promise<object> {
  const { clock, metrics, version } = dependencies;
  const readParts = reused(clock, partsMs, () => checkParts(dependencies));
  const readMetrics = reused(clock, metricsMs, () => metrics.read(names));
  return async () => {
    const [parts, readings] = await Promise.all([readParts(), readMetrics()]);
    const { state, models } = healthOf(dependencies);
    const known = dependencies.baseModels().map(({ name }) => name);
    return {
      version,
      state,
      parts,
      note: dependencies.databaseNote() ?? "",
      webhooks_allowed: dependencies.webhooks.isAllowed,
      model_memory_bytes: valueOf(readings, memory, {}),
      model_memory_bytes_max: valueOf(readings, `${memory}_max`, {}),
      bases: [...new Set([...known, ...Object.keys(models)])].map((name) => ({
        name,
        state: models[name] ?? "unloaded",
        ...metricsOf(name, readings),
      })),
    };
  };
}

function metricsOf(base: string, readings: readonly MetricReading[]): object {
  return Object.fromEntries(
    Object.entries(baseMetrics).map(([name, { metric, label }]) => [
      name,
      valueOf(readings, metric, {
        [label]: base,
        ...((name as BaseMetric) === "generated_tokens" && { kind: "completion" }),
      }),
    ]),
  );
}

function valueOf(
  readings: readonly MetricReading[],
  name: string,
  labels: Readonly<Record<string, string>>,
): number | null {
  const samples = readings.find((reading) => reading.name === name)?.samples ?? [];
  const found = samples.find((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found?.value ?? null;
}

/** Returns a function that calls `read`, or returns the last result while this is younger than `ageMs`. */
function reused<Value>(clock: Clock, ageMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let last: { readonly atMs: number; readonly value: Promise<Value> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last === null || nowMs - last.atMs >= ageMs) last = { atMs: nowMs, value: read() };
    return last.value;
  };
}
