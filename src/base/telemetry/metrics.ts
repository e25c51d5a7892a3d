// Counters, gauges and histograms in Prometheus' text form. One registry per server, so that tests do not interfere.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

type Labels = Readonly<Record<string, string>>;

export interface MetricOptions {
  /** With the prefix `hone_`, and a unit last; metrics that vLLM has too also have its name, with `vllm:`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Called at each scrape. */
type ReadSamples = () => readonly { readonly labels?: Labels; readonly value: number }[];

/** A metric at one moment. A histogram's samples are its `_bucket`, `_sum` and `_count`. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge" | "histogram";
  readonly samples: readonly {
    /** Name of the sample, such as `hone_wait_seconds_bucket`. */
    readonly name: string;
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
  }[];
}

/** Registry of a process's metrics. */
export interface Metrics {
  counter(
    options: MetricOptions & {
      /** Label sets that start at 0, so that a first event counts as an increase. */
      readonly known?: readonly Labels[];
    },
  ): { increase(labels?: Labels, by?: number): void };
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): {
    observe(value: number, labels?: Labels): void;
  };
  /** `read` is called at each scrape. */
  gauge(options: MetricOptions, read: ReadSamples): void;
  /** Like `gauge`, for a value that only grows until its source restarts. */
  countedElsewhere(options: MetricOptions, read: ReadSamples): void;
  /** The exposed metrics as data. */
  read(): Promise<readonly MetricReading[]>;
  /** The exposition text and its content type. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>;
}

/** @param processMetrics true adds metrics of the Node process (memory, event loop) */
export function createMetrics(options: { readonly processMetrics: boolean }): Metrics {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  return {
    counter: ({ name, help, labels = [], known = [] }) => {
      const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] });
      for (const values of known) counter.inc(values, 0);
      return { increase: (values = {}, by = 1) => counter.inc(values, by) };
    },
    histogram: ({ name, help, labels = [], buckets }) => {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers: [registry],
      });
      return { observe: (value, values = {}) => histogram.observe(values, value) };
    },
    gauge: ({ name, help, labels = [] }, read) => {
      // The gauge registers itself; prom-client calls `collect` with the gauge as `this`.
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: () => {
          gauge.reset();
          // Resetting a gauge without labels leaves a zero, which no one measured.
          if (labels.length === 0) gauge.remove();
          for (const { labels: values = {}, value } of read()) gauge.set(values, value);
        },
      });
    },
    countedElsewhere: ({ name, help, labels = [] }, read) => {
      const counter: Counter = new Counter({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: () => {
          counter.reset();
          for (const { labels: values = {}, value } of read()) counter.inc(values, value);
        },
      });
    },
    read: async () => {
      const all = await registry.getMetricsAsJSON();
      return all.flatMap(({ name, help, type, values }) => {
        // The library's types number the kinds, but its values are names.
        const kind = String(type);
        if (kind !== "counter" && kind !== "gauge" && kind !== "histogram") return [];
        // A histogram's samples have separate names, which the library's types omit.
        const named = values as readonly (Omit<MetricReading["samples"][number], "name"> & {
          readonly metricName?: string;
        })[];
        const samples = named.map(({ metricName, labels, value }) => ({
          name: metricName ?? name,
          labels,
          value,
        }));
        return [{ name, help, kind, samples }];
      });
    },
    expose: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}
