// Counters, gauges and histograms in Prometheus' text format. Each server has a separate registry, so that tests do
// not interfere.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

type Labels = Readonly<Record<string, string>>;

export interface MetricOptions {
  /**
   * Name with the prefix `hone_`, and a unit at the end; a metric that vLLM has too is also exposed under vLLM's name,
   * with `vllm:`.
   */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Returns the current samples; called at each scrape. */
type ReadSamples = () => readonly { readonly labels?: Labels; readonly value: number }[];

/** A metric as read at one moment. A histogram's samples are its `_bucket`, `_sum` and `_count`. */
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
      /** Label sets whose counters are exposed as 0 from the start, so that their first event appears as an increase. */
      readonly known?: readonly Labels[];
    },
  ): { increase(labels?: Labels, by?: number): void };
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): {
    observe(value: number, labels?: Labels): void;
  };
  /** Adds a gauge; `read` is called at each scrape. */
  gauge(options: MetricOptions, read: ReadSamples): void;
  /** Like `gauge`, for a value that only grows until its source restarts, and is thus exposed as a counter. */
  countedElsewhere(options: MetricOptions, read: ReadSamples): void;
  /** Returns the exposed metrics as data. */
  read(): Promise<readonly MetricReading[]>;
  /** Returns the exposed metrics as text, with its content type. */
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
          // Resetting a gauge without labels sets it to zero, a value that was never measured, so it is removed.
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
        // The library's types declare the kinds as numbers, but its values are names.
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
