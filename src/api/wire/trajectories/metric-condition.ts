// Conditions on metrics in queries, such as `speed>=0.5`.
import type { Fault } from "../../../base/domain/service-error.ts";
import type { MetricComparison, MetricCondition } from "../../../base/domain/summaries/trajectory-outline.ts";

/** A name, a comparison and a number. A name may contain signs of comparison: the number begins after the last one. */
const pattern = /^([^<>=].*?)(<=|>=|<|>|=)([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)$/is;

/** Returns the condition that a text describes. Adds a fault and returns null if the text is malformed. */
export function readMetricCondition(text: string, faults: Fault[]): MetricCondition | null {
  const [, name = "", comparison, value] = pattern.exec(text) ?? [];
  if (value === undefined || !Number.isFinite(Number(value))) {
    const message = "metric is a name, a comparison and a number, such as speed>=0.5";
    faults.push({ location: ["query", "metric"], message, type: "value_error" });
    return null;
  }
  // Safe cast: the pattern has only these comparisons.
  return { name: name.trim(), comparison: comparison as MetricComparison, value: Number(value) };
}
