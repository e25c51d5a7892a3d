// Counters, gauges and histograms in the text format of Prometheus. Each server has its own registry, so that several
// servers in one process, as in tests, do not share metrics.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

type Labels = Readonly<Record<string, string>>;

export interface MetricOptions {
  /**
   * Name with the prefix `hone_` and a unit at the end. If vLLM has the same metric, it is also exposed under vLLM's
   * name, with the prefix `vllm:`.
   */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Returns the current samples of a metric. Called each time the metrics are read. */
type ReadSamples = () => readonly { readonly labels?: Labels; readonly value: number }[];

/** A metric with its values at one moment. The samples of a histogram are its `_bucket`, `_sum` and `_count`. */
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

/** Metrics of one server. */
export interface Metrics {
  counter(
    options: MetricOptions & {
      /**
       * Label values whose counters are exposed as 0 from the start, so that the first event already appears as an
       * increase.
       */
      readonly known?: readonly Labels[];
    },
  ): { increase(labels?: Labels, by?: number): void };
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): {
    observe(value: number, labels?: Labels): void;
  };
  /**
   * Adds a gauge.
   *
   * @param read called each time the metrics are read
   */
  gauge(options: MetricOptions, read: ReadSamples): void;
  /**
   * Adds a counter whose value another part of the system counts. Like a gauge, it is read at each scrape; its value
   * only grows until that part restarts.
   */
  countedElsewhere(options: MetricOptions, read: ReadSamples): void;
  /** Returns all metrics as data, or only those with the given names. */
  read(names?: readonly string[]): Promise<readonly MetricReading[]>;
  /** Returns all metrics as text, with the content type of the text. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>;
}

/** @param options.processMetrics true to add metrics of the Node process (memory, event loop) */
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
      // The gauge registers itself, so only prom-client needs the object: it calls `collect` when the metrics are read.
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: () => {
          gauge.reset();
          // `reset` sets a gauge without labels to 0, although nobody measured this value, so the value is removed.
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
    read: async (names) => {
      const all =
        names === undefined
          ? await registry.getMetricsAsJSON()
          : await Promise.all(names.flatMap((name) => registry.getSingleMetric(name)?.get() ?? []));
      return all.flatMap(({ name, help, type, values }) => {
        // In prom-client's types, the kinds of metrics are numbers, but the actual values are names.
        const kind = String(type);
        if (kind !== "counter" && kind !== "gauge" && kind !== "histogram") return [];
        // Samples of a histogram have separate names, which prom-client's types lack.
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
