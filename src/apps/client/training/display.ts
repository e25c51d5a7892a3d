// Shows the progress of a run: a line per round, with its warnings and failures. On a terminal, a status line is
// overwritten below them; in other outputs (a pipe, CI, a container), a status line is appended only occasionally.
import type { Platform } from "../platform.ts";
import type { RoundReport } from "./round-report.ts";
import type { TrainEvent } from "./train-event.ts";

export interface Display {
  show(event: TrainEvent): void;
  end(): void;
}

type Place = Pick<Platform, "output" | "monotonicMs">;

/** Returns a display for the platform's output; null if it has none. */
export function displayOn(platform: Place): Display | null {
  const output = platform.output();
  if (output === null) return null;
  return output.isTerminal ? terminalDisplay(output) : lineDisplay(output, platform);
}

type Output = NonNullable<ReturnType<Platform["output"]>>;

function terminalDisplay(screen: Output): Display {
  let isShown = false;
  // Escape code that clears the status line before it is rewritten.
  const clear = "\r\u001b[K";
  return {
    show: (event) => {
      const { kept, passing } = linesOf(event);
      for (const line of kept) screen.write(`${clear}${line}\n`);
      if (passing !== null) screen.write(clear + passing);
      if (kept.length > 0 || passing !== null) isShown = passing !== null;
    },
    end: () => {
      if (isShown) screen.write(clear);
    },
  };
}

/** Maximum time in milliseconds between two lines. A log that is silent for longer suggests that the run hangs. */
const quietMsMax = 30_000;

function lineDisplay(output: Output, { monotonicMs }: Pick<Place, "monotonicMs">): Display {
  let lastMs = monotonicMs();
  const write = (line: string): void => {
    output.write(`${line}\n`);
    lastMs = monotonicMs();
  };
  return {
    show: (event) => {
      const { kept, passing } = linesOf(event);
      for (const line of kept) write(line);
      const isDue = event.type === "server-awaited" && event.waitedMs === 0;
      if (passing !== null && (isDue || monotonicMs() - lastMs >= quietMsMax)) write(passing);
    },
    end: () => undefined,
  };
}

interface Lines {
  readonly kept: readonly string[];
  /** Status to show until the next event; null if there is nothing to report. */
  readonly passing: string | null;
}

const lines: {
  readonly [Type in TrainEvent["type"]]: (event: Extract<TrainEvent, { readonly type: Type }>) => Lines;
} = {
  "run-started": ({ model, rounds, step }) =>
    kept(`trains ${model} from version ${step}, ${rounds === 1 ? "one round" : `${rounds} rounds`}`),
  "run-resumed": ({ round, rounds, step }) =>
    round < rounds
      ? kept(`continues with round ${round} of ${rounds}, version ${step}`)
      : { kept: [], passing: null },
  "server-awaited": ({ reason, waitedMs }) =>
    passing(`waiting for the server (${Math.round(waitedMs / 1000)} s): ${reason}`),
  "rollouts-started": ({ of, round, step, total }) =>
    passing(`${of === "round" ? `round ${round}` : "validation"}: ${total} rollouts of version ${step}`),
  "rollout-ended": ({ ended, total, failures }) =>
    passing(`${ended} of ${total} rollouts${failures === 0 ? "" : `, ${failures} failed`}`),
  "job-started": ({ round, jobId }) => passing(`round ${round}: training (${jobId})`),
  "job-event": ({ round, event }) =>
    event.type === "gradient_step" ? passing(`round ${round}: training`) : { kept: [], passing: null },
  "version-validated": ({ validation: { step, reward, isBest } }) =>
    kept(`version ${step}  validation ${reward.toFixed(3)}${isBest ? "  best so far" : ""}`),
  "round-ended": ({ report }) =>
    kept(
      roundLine(report),
      ...report.failureReasons.map(
        ({ message, count }) => `  failed ${count === 1 ? "once" : `${count} times`}: ${message}`,
      ),
      ...report.warnings.map((warning) => `  warning: ${warning}`),
    ),
  "run-ended": ({ summary }) => kept(summary),
};

function linesOf(event: TrainEvent): Lines {
  // Safe cast: the table has a formatter for each event type.
  return (lines[event.type] as (event: TrainEvent) => Lines)(event);
}

const barWidth = 20;

function roundLine(report: RoundReport): string {
  const { round, reward, rewardMin, rewardMax, spread, failures, groups, groupsWithoutSpread, seconds } =
    report;
  const { answers, answersCutOff, training } = report;
  const notes = [
    ...(typeof training?.klUpdate === "number" ? [`moved ${training.klUpdate.toFixed(3)}`] : []),
    ...(failures === 0 ? [] : [`${failures} failed`]),
    ...(answersCutOff === 0 ? [] : [`${answersCutOff} of ${answers} answers cut off`]),
    ...(groupsWithoutSpread === 0 ? [] : [`${groupsWithoutSpread} of ${groups} tasks had no reward spread`]),
    ...(training === null ? ["nothing trained"] : []),
  ];
  const rewards =
    reward === null
      ? "no reward"
      : `▕${bar(reward, rewardMin ?? 0, rewardMax ?? 1)}▏ reward ${reward.toFixed(3)} ± ${spread.toFixed(3)}`;
  const times = `${report.completionTokens} tokens  ${seconds.rollouts.toFixed(1)} s + ${seconds.training.toFixed(1)} s`;
  return [`round ${String(round).padStart(2)}`, rewards, times, ...notes].join("  ");
}

/** Draws the mean reward as a bar. The scale reaches from `min` to `max`, and includes at least the range 0 to 1. */
function bar(value: number, min: number, max: number): string {
  const [from, to] = [Math.min(0, min), Math.max(1, max)];
  const filled = Math.round(((value - from) / (to - from)) * barWidth);
  return "█".repeat(filled).padEnd(barWidth);
}

function kept(...texts: readonly string[]): Lines {
  return { kept: texts, passing: null };
}

function passing(text: string): Lines {
  return { kept: [], passing: text };
}
