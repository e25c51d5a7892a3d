// What a terminal shows of a run: a line for each round, and one that changes for what goes on.
import type { Platform } from "../platform.ts";
import type { RoundReport } from "./round-report.ts";
import type { TrainEvent } from "./train-event.ts";

export interface Display {
  show(event: TrainEvent): void;
  end(): void;
}

/** Null where there is no terminal. */
export function terminalDisplay({ terminal }: Pick<Platform, "terminal">): Display | null {
  const screen = terminal();
  if (screen === null) return null;
  let isShown = false;
  // The whole line is written over.
  const clear = "\r\u001b[K";
  const now = (line: string): void => {
    screen.write(clear + line);
    isShown = true;
  };
  const keep = (line: string): void => {
    screen.write(`${clear}${line}\n`);
    isShown = false;
  };
  return {
    show: (event) => {
      const line = lineOf(event);
      if (line === null) return;
      if (line.isKept) keep(line.text);
      else now(line.text);
    },
    end: () => {
      if (isShown) screen.write(clear);
    },
  };
}

interface Line {
  readonly text: string;
  /** Whether it stays. */
  readonly isKept: boolean;
}

const lines: {
  readonly [Type in TrainEvent["type"]]: (event: Extract<TrainEvent, { readonly type: Type }>) => Line | null;
} = {
  "run-resumed": ({ round, rounds, step }) =>
    kept(
      round < rounds
        ? `goes on with round ${round}, version ${step}`
        : `${rounds} rounds were done before; ask for more of them, for another run, or for a new model`,
    ),
  "rollouts-started": ({ of, round, step, total }) =>
    passing(`${of === "round" ? `round ${round}` : "validation"}: ${total} rollouts of version ${step}`),
  "rollout-ended": ({ ended, total, failures }) =>
    passing(`${ended} of ${total} rollouts${failures === 0 ? "" : `, ${failures} failed`}`),
  "job-started": ({ round, jobId }) => passing(`round ${round}: training (${jobId})`),
  "job-event": () => null,
  "version-validated": ({ validation: { step, reward, isBest } }) =>
    kept(`version ${step}  validation ${reward.toFixed(3)}${isBest ? "  best so far" : ""}`),
  "round-ended": ({ report }) => kept(roundLine(report)),
};

function lineOf(event: TrainEvent): Line | null {
  // The rule of its own type.
  return (lines[event.type] as (event: TrainEvent) => Line | null)(event);
}

const barWidth = 20;

function roundLine(report: RoundReport): string {
  const { round, reward, rewardMin, rewardMax, spread, failures, groups, groupsWithoutSpread, seconds } =
    report;
  const notes = [
    ...(failures === 0 ? [] : [`${failures} failed`]),
    ...(groupsWithoutSpread === 0 ? [] : [`${groupsWithoutSpread} of ${groups} tasks alike`]),
    ...(report.newStep === null ? ["nothing to train"] : []),
  ];
  const rewards =
    reward === null
      ? "no reward"
      : `▕${bar(reward, rewardMin ?? 0, rewardMax ?? 1)}▏ reward ${reward.toFixed(3)} ± ${spread.toFixed(3)}`;
  const times = `${report.completionTokens} tokens  ${seconds.rollouts.toFixed(1)} s + ${seconds.training.toFixed(1)} s`;
  return [`round ${String(round).padStart(2)}`, rewards, times, ...notes].join("  ");
}

/** Where the mean lies between 0, or the least, and 1, or the greatest. */
function bar(value: number, min: number, max: number): string {
  const [from, to] = [Math.min(0, min), Math.max(1, max)];
  const filled = Math.round(((value - from) / (to - from)) * barWidth);
  return "█".repeat(filled).padEnd(barWidth);
}

function kept(text: string): Line {
  return { text, isKept: true };
}

function passing(text: string): Line {
  return { text, isKept: false };
}
