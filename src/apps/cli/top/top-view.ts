// Renders the screen of `hone top` as lines of text that fit the terminal. Pure.
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { drawBar } from "../demo/draw-curve.ts";
import { duration } from "../duration.ts";
import { drawSparkline } from "../watch/charts.ts";
import type { TerminalSize } from "../watch/job-view.ts";
import type { Rates } from "./rates.ts";
import { processKey, type Reading, type Usage } from "./readings.ts";
import type { Curves, Snapshot, TopJob } from "./snapshot.ts";

export interface TopView {
  readonly snapshot: Snapshot;
  /** Rates since the previous sample; null for the first sample, and after a server restart. */
  readonly rates: Rates | null;
  readonly curves: Curves;
  /** Additional message, such as that the server does not answer; null if there is none. */
  readonly notice: string | null;
}

const nameWidth = 13;
const valueWidth = 18;
const barWidth = 16;

/**
 * Returns the lines of the screen. No line is wider than the terminal, and there are fewer lines than the terminal has
 * rows.
 */
export function renderTop(view: TopView, { columns, rows }: TerminalSize): readonly string[] {
  const { snapshot, notice } = view;
  const head = [renderHeader(snapshot), ...(notice === null ? [] : [notice])];
  const parts = [
    head,
    renderLoad(view, columns),
    renderMemory(view),
    renderBases(snapshot.reading),
    renderJobs(snapshot),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]))
    .slice(0, Math.max(0, rows - 1))
    .map((line) => line.slice(0, columns).trimEnd());
}

/** Returns a sample as one line, for an output that is not a terminal. */
export function plainTop({ snapshot, rates }: Pick<TopView, "snapshot" | "rates">): string {
  const { reading, jobs, at, state } = snapshot;
  const running = jobs?.filter((job) => job.state !== "queued").length;
  return [
    at.toISOString(),
    state,
    `running ${reading.running}`,
    `waiting ${reading.waiting.value ?? 0}`,
    `prompt ${perSecond(rates?.promptTokens, "tokens")}`,
    `generated ${perSecond(rates?.generatedTokens, "tokens")}`,
    `requests ${perSecond(rates?.requests)}`,
    `prefix hits ${share(rates?.prefixHitShare)}`,
    `KV cache ${sizeText(sumOf(reading, (base) => base.keyValueBytes.value))}`,
    ...(jobs === null ? [] : [`jobs ${running} running, ${jobs.length - (running ?? 0)} queued`]),
  ].join("  ");
}

function renderHeader({ url, version, state, reason, at }: Snapshot): string {
  const why = reason === "" ? "" : `: ${reason}`;
  return `hone ${version}  ${url}  ${state}${why}  ${at.toISOString().slice(11, 19)} UTC`;
}

function renderLoad({ snapshot: { reading }, rates, curves }: TopView, columns: number): readonly string[] {
  const { waiting, promptsWaiting, inFlight, connections, jobStreams } = reading;
  const curve = (values: readonly number[]): string =>
    drawSparkline(values, Math.max(1, columns - nameWidth - valueWidth));
  const queue = `${waiting.value ?? 0} waiting${waiting.max === null ? "" : ` of ${waiting.max}`}`;
  const first = rates?.firstOutputSeconds ?? null;
  return [
    `${named("prompt")}${perSecond(rates?.promptTokens, "tokens").padEnd(valueWidth)}${curve(curves.promptTokens)}`,
    `${named("generated")}${perSecond(rates?.generatedTokens, "tokens").padEnd(valueWidth)}${curve(curves.generatedTokens)}`,
    `${named("running")}${`${reading.running} requests`.padEnd(valueWidth)}${curve(curves.running)}`,
    `${named("queue")}${queue}, ${promptsWaiting} prompts to render, ${inFlight} in flight on ${connections} connections`,
    `${named("ended")}${perSecond(rates?.requests)}, failed ${perSecond(rates?.failures)}${first === null ? "" : `, first output after ${first.toFixed(2)} s`}`,
    `${named("prefix hits")}${share(rates?.prefixHitShare)} of prompt tokens${jobStreams === 0 ? "" : `; ${jobStreams} job event streams`}`,
  ];
}

function renderMemory({ snapshot: { reading }, rates }: TopView): readonly string[] {
  const { modelMemory, modelWaiting, processes } = reading;
  const waits = modelWaiting === 0 ? "" : `; ${modelWaiting} requests wait for a model to load`;
  const models =
    modelMemory.value === null
      ? []
      : [`${named("models")}up to ${formatUsage(modelMemory, sizeText)}${waits}`];
  const lines = processes.map(({ name, id, memoryBytes }) => {
    const cpu = rates?.cpuShares.get(processKey(name, id)) ?? null;
    const shown = cpu === null ? "" : `${Math.round(cpu * 100)} % of a core`;
    return `${named(name)}${sizeText(memoryBytes).padEnd(valueWidth)}${shown.padEnd(valueWidth)}${id === null ? "" : `process ${id}`}`;
  });
  return [...models, ...lines];
}

function renderBases({ bases }: Reading): readonly string[] {
  const nameOfBase = Math.max(nameWidth, ...bases.map(({ name }) => name.length + 2));
  return bases.flatMap(({ name, state, running, waiting, keyValueBytes, slots, prefixBytes }) => [
    `${name.padEnd(nameOfBase)}${state}, ${running} running, ${waiting} waiting`,
    ...(keyValueBytes.value === null
      ? []
      : [
          `${" ".repeat(nameOfBase)}${barOf(keyValueBytes)}KV cache ${formatUsage(keyValueBytes, sizeText)}, slots ${formatUsage(slots, String)}`,
          `${" ".repeat(nameOfBase)}${barOf(prefixBytes)}cached prompts ${formatUsage(prefixBytes, sizeText)}`,
        ]),
  ]);
}

function renderJobs({ jobs, jobsRefusal }: Snapshot): readonly string[] {
  if (jobs === null) return jobsRefusal === null ? [] : [`${named("jobs")}${jobsRefusal}`];
  return jobs.length === 0 ? [`${named("jobs")}none`] : jobs.map(renderJobLine);
}

function renderJobLine({ id, model, kind, state, progress, secondsLeft, waitingFor }: TopJob): string {
  const bar = progress === null ? "" : ` ▕${drawBar(progress, barWidth)}▏ ${Math.floor(progress * 100)} %`;
  const left = secondsLeft === null ? "" : `, about ${duration(secondsLeft)} left`;
  const waits = waitingFor === null ? "" : `, waiting for ${waitingFor}`;
  return `${named("job")}${id}  ${model}  ${kind}  ${state}${bar}${left}${waits}`;
}

const named = (name: string): string => name.padEnd(nameWidth);

function perSecond(value: number | undefined, what = ""): string {
  const unit = what === "" ? "/s" : ` ${what}/s`;
  if (value === undefined) return `-${unit}`;
  return `${value < 100 ? Number(value.toPrecision(2)) : Math.round(value)}${unit}`;
}

function share(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : `${Math.round(value * 100)} %`;
}

function formatUsage({ value, max }: Usage, text: (value: number) => string): string {
  return `${text(value ?? 0)}${max === null ? "" : ` of ${text(max)}`}`;
}

function barOf({ value, max }: Usage): string {
  return `▕${drawBar(max === null || max === 0 ? 0 : (value ?? 0) / max, barWidth)}▏ `;
}

function sumOf({ bases }: Reading, read: (base: Reading["bases"][number]) => number | null): number {
  return bases.reduce((sum, base) => sum + (read(base) ?? 0), 0);
}
