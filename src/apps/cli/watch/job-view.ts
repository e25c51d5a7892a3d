// Renders a watched job as lines of text that fit the terminal: its state, its progress, and curves of its metrics.
// Pure.
import type { TrainingEvent, TrainingJob } from "../../client/api.ts";
import { drawBar } from "../demo/draw-curve.ts";
import { duration } from "../duration.ts";
import { drawChart, drawSparkline, shortNumber } from "./charts.ts";
import { formatRate, formatSteps } from "./job-config.ts";

export interface JobView {
  /** The job as last read from the server; null before the first read. */
  readonly job: TrainingJob | null;
  /** Values of each drawn metric in the gradient steps so far, oldest first. */
  readonly series: ReadonlyMap<string, readonly number[]>;
  /** Additional message, such as a lost connection; null if there is none. */
  readonly notice: string | null;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Metrics that are drawn, most important first. A job shows those that its gradient steps report. */
const shownMetrics = [
  "loss",
  "reward",
  "rewards/margins",
  "rewards/accuracies",
  "rewards/chosen",
  "rewards/rejected",
  "kl",
  "entropy",
  "kl_div",
  "kl_policy_ref",
  "grad_norm",
  "learning_rate",
  "loss/importance_ratio_max",
  "loss/clipped_token_fraction",
  "tokens_per_second",
];

/** Appends the drawn metrics of a gradient step's event to {@link JobView.series}. */
export function addStep(series: Map<string, number[]>, { data }: TrainingEvent): void {
  for (const name of shownMetrics) {
    const value = data[name];
    if (typeof value !== "number") continue;
    const values = series.get(name);
    if (values === undefined) series.set(name, [value]);
    else values.push(value);
  }
}

/** Maximum number of metrics in the line of an event; the events contain all. */
const lineMetricsMax = 5;

/** Most important values of the events that begin and end a successful training, most important first. */
const mainValues: readonly string[] = [
  "step",
  "data/reward",
  "loss/train",
  "loss/kl_div",
  "time/step_trainer_s",
  "num_gradient_steps",
  "num_trained_sequences",
  "num_trajectories",
  "num_trainable_tokens",
];

/** Formats an event as one line; only an event that reports a failure has all its values there. */
export function formatEvent({ type, data }: TrainingEvent): string {
  const spelled = (name: string): string => {
    const value = data[name];
    return `${name} ${typeof value === "number" ? shortNumber(value) : value}`;
  };
  if (type !== "gradient_step") {
    const main = type === "training_failed" ? [] : mainValues.filter((name) => name in data);
    const names = main.length === 0 ? Object.keys(data) : main.slice(0, lineMetricsMax);
    return [type, ...names.map(spelled)].join("  ");
  }
  const { step, num_gradient_steps: count } = data;
  const place =
    typeof step === "number" ? [`step ${step}${typeof count === "number" ? `/${count}` : ""}`] : [];
  const shown = shownMetrics.filter(
    (name) => typeof data[name] === "number" && !isConstantRate(name, [data[name]]),
  );
  const metrics = shown.length === 0 ? Object.keys(data) : shown;
  return [type, ...place, ...metrics.slice(0, lineMetricsMax).map(spelled)].join("  ");
}

const chartHeightMax = 10;
const nameWidth = 28;

/**
 * Returns the lines of the screen. No line is wider than the terminal, and there are fewer lines than the terminal has
 * rows.
 */
export function renderJob(view: JobView, { columns, rows }: TerminalSize): readonly string[] {
  const { job, series, notice } = view;
  const head = [
    ...(job === null ? ["waiting for the server"] : headOf(job, columns)),
    ...(notice === null ? [] : [notice]),
  ];
  // The terminal's last row stays empty, since a line break there would scroll the screen.
  const room = rows - 1 - head.length;
  const curves = shownMetrics.flatMap((name) => {
    const values = series.get(name);
    return values === undefined || isConstantRate(name, values) ? [] : [{ name, values }];
  });
  const [main] = curves;
  const chartHeight = Math.min(chartHeightMax, room - 2 - curves.length);
  const chart =
    main === undefined || main.values.length < 2 || chartHeight < 3
      ? []
      : ["", main.name, ...drawChart(main.values, { height: chartHeight, width: columns })];
  const sparklines = curves.map(({ name, values }) => sparklineOf(name, values, columns));
  return [...head, ...chart, ...(sparklines.length > 0 ? ["", ...sparklines] : [])]
    .slice(0, rows - 1)
    .map((line) => line.slice(0, columns));
}

/** True for a constant learning rate, which needs no curve. */
function isConstantRate(name: string, values: readonly number[]): boolean {
  return name !== "loss" && values.every((value) => value === values[0]) && name === "learning_rate";
}

function headOf(job: TrainingJob, columns: number): readonly string[] {
  const { progress, phase } = job;
  const what = [job.state, ...(phase === null ? [] : [phase])].join(", ");
  const verb = job.state === "running" ? "waited for" : "waiting for";
  const waits = job.waiting_for === null ? [] : [`${verb} ${job.waiting_for}`];
  const steps = formatSteps(job);
  const lines = [`job ${job.id}  ${job.kind}  ${what}`, ...waits];
  if (steps !== null) lines.push(`steps ${steps}; learning rate ${formatRate(job)}`);
  if (progress !== null) {
    const { done, total, of } = shownProgress(progress);
    const counted = ` ${done} of ${total} ${of}`;
    const left = job.seconds_left === null ? "" : `, about ${duration(job.seconds_left)} left`;
    const width = Math.max(10, Math.min(40, columns - counted.length - left.length - 2));
    lines.push(`▕${drawBar(total === 0 ? 1 : done / total, width)}▏${counted}${left}`);
  }
  if (job.result_step !== null) lines.push(`version ${job.result_step}`);
  if (job.error_message !== null) lines.push(job.error_message);
  return [...lines, ...job.warnings.map((warning) => `warning: ${warning}`)];
}

/** Returns how many gradient steps are done, and how many there are. Before the first step, counts prepared items. */
function shownProgress(progress: NonNullable<TrainingJob["progress"]>): {
  readonly done: number;
  readonly total: number;
  readonly of: string;
} {
  const { prepared, prepared_total: toPrepare, gradient_steps: done, gradient_steps_total: total } = progress;
  return total === null
    ? { done: prepared ?? 0, total: toPrepare ?? 0, of: "prepared" }
    : { done, total, of: "steps" };
}

function sparklineOf(name: string, values: readonly number[], columns: number): string {
  const last = shortNumber(values.at(-1) ?? 0).padStart(10);
  const width = Math.max(1, columns - nameWidth - last.length - 2);
  return `${name.slice(0, nameWidth - 1).padEnd(nameWidth)}${last}  ${drawSparkline(values, width)}`;
}
