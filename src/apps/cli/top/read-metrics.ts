// Parses the subset of the Prometheus text format that Hone writes: names, labels and values.

/** A value with its labels, from one line. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export type MetricSamples = ReadonlyMap<string, readonly Sample[]>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** Returns the samples by metric name. Skips lines without a sample, such as comments. */
export function readMetrics(text: string): MetricSamples {
  const samples = new Map<string, Sample[]>();
  for (const written of text.split("\n")) {
    const [, name, labels = "", value] = line.exec(written) ?? [];
    if (name === undefined) continue;
    const sample = { labels: readLabels(labels), value: readNumber(value) };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  }
  return samples;
}

function readLabels(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...text.matchAll(label)].map(([, name, value]) => [name, unescaped(value)]));
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

function readNumber(text: string): number {
  if (/^[+-]?Inf$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

/** Returns the sum of a metric's samples with the given labels; null if there are none. */
export function sumOf(
  samples: MetricSamples,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null {
  const found = (samples.get(name) ?? []).filter((sample) =>
    Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
}
