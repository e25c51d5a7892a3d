// Parses the server's metrics from Prometheus' text format.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function readMetrics(text: string): readonly Sample[] {
  return text.split("\n").flatMap((row) => {
    const [, name, labels = "", value] = line.exec(row) ?? [];
    if (name === undefined || row.startsWith("#")) return [];
    const pairs = [...labels.matchAll(label)].map(([, key = "", given = ""]) => [key, unescaped(given)]);
    // Prometheus writes infinity as `Inf`, JavaScript as `Infinity`.
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value?.replace("Inf", "Infinity")) }];
  });
}

/** Returns the value of a metric, summed over all labels that are not specified; null if it has no samples. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | null {
  const wanted = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return wanted.length === 0 ? null : wanted.reduce((sum, { value }) => sum + value, 0);
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}
