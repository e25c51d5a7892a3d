// Formats feedback statistics as text: bars for types and values, histograms for numbers.
import { counted } from "../../../base/domain/text/counted.ts";
import type { FeedbackPathStats, FeedbackStats, FeedbackTypeStats } from "../../client/api.ts";
import { shortNumber } from "../watch/charts.ts";
import { drawBars, drawHistogram } from "./pictures.ts";

/** Maximum number of values shown per path; --json prints all. */
const valuesMax = 10;
const pathsMax = 20;

/**
 * Returns the lines with the statistics.
 *
 * @param width maximum width of a line, in cells
 */
export function statisticsLines(statistics: FeedbackStats, width: number): readonly string[] {
  const { total_count: total, sample, types, other_types: others } = statistics;
  if (total === 0) return ["no feedback"];
  const bars = types.map(({ feedback_type: name, count }) => ({ name, count }));
  const further = others === 0 ? [] : [{ name: "other types", count: others }];
  return [
    counted(total, "record"),
    ...drawBars([...bars, ...further], width),
    ...(sample.share === 1 ? [] : ["", `The charts cover ${sample.count} of them. ${sample.rule}`]),
    ...types.flatMap((type) => (type.paths.length === 0 ? [] : ["", ...typeLines(type, width)])),
  ];
}

function typeLines(type: FeedbackTypeStats, width: number): readonly string[] {
  const said = type.paths.filter(({ path }) => !isAdded(type, path));
  const shown = said.slice(0, pathsMax);
  const left = said.length - shown.length;
  return [
    type.feedback_type,
    ...shown.flatMap((path) => pathLines(path, width).map((line) => `  ${line}`)),
    ...(left === 0 ? [] : [`  and ${left} more paths (--json has them)`]),
  ];
}

/** True for fields that the server derives from a reaction; showing them would add no information. */
function isAdded({ feedback_type: type }: FeedbackTypeStats, path: string): boolean {
  return type.endsWith(".reaction.1") && /^payload\.(alias|detoned|detoned_alias)$/.test(path);
}

function pathLines(path: FeedbackPathStats, width: number): readonly string[] {
  const kinds = Object.entries(path.kinds).map(([kind, count]) => `${count} ${kind}`);
  const head = `${path.path}  ${kinds.join(", ")}`;
  return [head, ...numberLines(path).map(indented), ...valueLines(path, width - 4).map(indented)];
}

function numberLines({ numbers, values }: FeedbackPathStats): readonly string[] {
  if (numbers === null) return [];
  const { mean, p50, p95, min, max } = numbers;
  const histogram = areFew(values) ? null : numbers.histogram;
  const percentiles =
    p50 === null || p95 === null ? "" : `  p50 ${shortNumber(p50)}  p95 ${shortNumber(p95)}`;
  return [
    `mean ${shortNumber(mean)}${percentiles}`,
    ...(histogram === null ? [] : [drawHistogram(histogram, { min, max })]),
  ];
}

/** Returns one bar per value. Returns no lines for many distinct numbers, because a histogram shows them instead. */
function valueLines({ values, numbers }: FeedbackPathStats, width: number): readonly string[] {
  if (values === null || (numbers !== null && !areFew(values))) return [];
  const inOrder = numbers === null ? values : values.toSorted((one, other) => +one.value - +other.value);
  const shown = inOrder.slice(0, valuesMax).map(({ value, count }) => ({ name: String(value), count }));
  const left = values.length - shown.length;
  return [...drawBars(shown, width), ...(left === 0 ? [] : [`and ${left} more values`])];
}

function areFew(values: FeedbackPathStats["values"]): boolean {
  return values !== null && values.length <= valuesMax;
}

function indented(line: string): string {
  return `  ${line}`;
}
