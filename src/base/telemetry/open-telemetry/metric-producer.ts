// Converts the metrics of /metrics to the form of OpenTelemetry's library, with the same names, labels and buckets.
// They are read at each export, so that no event counts twice. Metrics under vLLM's names are left out, because they
// are for gateways that read /metrics.
import { ValueType, type HrTime } from "@opentelemetry/api";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Clock } from "../../domain/clock.ts";
import type { MetricReading, Metrics } from "../metrics.ts";

export function metricProducer(
  metrics: Metrics,
  clock: Pick<Clock, "now">,
  scope: { name: string; version: string },
): MetricProducer {
  const startTime = hrTimeOf(clock.now());
  return {
    collect: async () => {
      const endTime = hrTimeOf(clock.now());
      const readings = (await metrics.read()).filter(({ name }) => !name.includes(":"));
      const all = readings.map((reading) => dataOf(reading, { startTime, endTime }));
      return {
        resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope, metrics: all }] },
        errors: [],
      };
    },
  };
}

type Times = Pick<DataPoint<number>, "startTime" | "endTime">;

function dataOf(reading: MetricReading, times: Times): MetricData {
  const shared = {
    descriptor: {
      name: reading.name,
      description: reading.help,
      unit: unitOf(reading.name),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (reading.kind === "histogram")
    return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(reading, times) };
  const dataPoints = reading.samples.map(({ labels, value }) => ({ ...times, attributes: labels, value }));
  return reading.kind === "gauge"
    ? { ...shared, dataPointType: DataPointType.GAUGE, dataPoints }
    : { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

/**
 * Returns the unit of a metric, which follows from the suffix of its name in Prometheus.
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  return /_bytes(_total|_max)?$/.test(name) ? "By" : "";
}

interface OpenHistogram {
  readonly labels: Readonly<Record<string, string | number>>;
  /** Upper bounds in ascending order, each with the number of values up to it. */
  readonly buckets: { readonly bound: number; readonly count: number }[];
  sum: number;
  count: number;
}

/** Converts histograms. Buckets are cumulative in Prometheus, but not in OpenTelemetry. */
function histogramsOf({ name, samples }: MetricReading, times: Times): DataPoint<Histogram>[] {
  const open = new Map<string, OpenHistogram>();
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    const histogram = open.get(key) ?? { labels, buckets: [], sum: 0, count: 0 };
    open.set(key, histogram);
    if (sample.name === `${name}_sum`) histogram.sum = sample.value;
    else if (sample.name === `${name}_count`) histogram.count = sample.value;
    else if (le !== "+Inf") histogram.buckets.push({ bound: Number(le), count: sample.value });
  }
  return [...open.values()].map(({ labels, buckets, sum, count }) => ({
    ...times,
    attributes: labels,
    value: {
      buckets: {
        boundaries: buckets.map(({ bound }) => bound),
        counts: [...buckets.map((bucket) => bucket.count), count].map(
          (below, index) => below - (buckets[index - 1]?.count ?? 0),
        ),
      },
      sum,
      count,
    },
  }));
}

function hrTimeOf(time: Date): HrTime {
  const ms = time.getTime();
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
