// `hone top`: show a running server's load live: throughput, queue, memory, processes and jobs.
import { type Command, InvalidArgumentError } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { ServerSampler } from "./server-sampler.ts";
import { History, type Snapshot } from "./snapshot.ts";
import { snapshotFields } from "./snapshot-fields.ts";
import { plainTop, renderTop } from "./top-view.ts";
import { LiveScreen } from "../watch/live-screen.ts";
import { printJsonLine } from "../json-output.ts";

interface TopFlags extends ConnectionFlags {
  /** Interval between samples in seconds. */
  readonly interval: number;
  readonly once?: boolean;
  readonly json?: boolean;
}

const about = `
Rates are averages over the last interval. The first sample has no rates, except with --once, which waits one interval. If
the output is not a terminal, each sample is one line. The command shows the jobs that the key can access. Press q or Ctrl+C
to quit.`;

export function addTopCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("top")
      .description("Show a running server live: throughput, queue, memory, prefix cache, models and jobs."),
  )
    .option("--interval <seconds>", "seconds between samples, 0.2 to 3600", seconds, 2)
    .option("--once", "measure over one interval, print the values and exit")
    .option("--json", "print one JSON object per line for each sample")
    .addHelpText("after", about)
    .action(showServer);
}

function seconds(text: string): number {
  const value = Number(text);
  if (value >= 0.2 && value <= 3600) return value;
  throw new InvalidArgumentError("It must be a number of seconds from 0.2 to 3600.");
}

async function showServer(flags: TopFlags): Promise<void> {
  const look = new ServerSampler(connect(flags), systemClock);
  const history = new History();
  const ending = new AbortController();
  const next = async (): Promise<Snapshot> => {
    const snapshot = await look.take(ending.signal);
    history.add(snapshot);
    return snapshot;
  };
  // An error of the first sample ends the command. If the server becomes unreachable later, sampling continues,
  // because it may come back.
  const first = await next();
  if (flags.once === true) {
    await systemClock.sleep(flags.interval * 1000);
    printOnce(await next(), history, flags);
    return;
  }
  const screen = createScreen(flags, history, () => ending.abort());
  try {
    screen.show(first, null);
    for (let last = first; ;) {
      await systemClock.sleep(flags.interval * 1000, { signal: ending.signal });
      try {
        last = await next();
        screen.show(last, null);
      } catch (error) {
        if (ending.signal.aborted) return;
        screen.show(last, error instanceof Error ? error.message : String(error));
      }
    }
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    screen.end();
  }
}

function printOnce(snapshot: Snapshot, history: History, flags: TopFlags): void {
  const { rates, curves } = history;
  if (flags.json === true) {
    printJsonLine(snapshotFields(snapshot, rates), flags);
    return;
  }
  const size = { columns: process.stdout.columns || 100, rows: Infinity };
  process.stdout.write(`${renderTop({ snapshot, rates, curves, notice: null }, size).join("\n")}\n`);
}

interface TopScreen {
  /**
   * Shows a sample.
   *
   * @param notice reason why there is no newer sample; null if this one is current
   */
  show(snapshot: Snapshot, notice: string | null): void;
  end(): void;
}

function createScreen(flags: TopFlags, history: History, onEnd: () => void): TopScreen {
  process.once("SIGINT", onEnd);
  process.once("SIGTERM", onEnd);
  const forget = (): void => void process.off("SIGINT", onEnd).off("SIGTERM", onEnd);
  const { json = false } = flags;
  if (process.stdout.isTTY && !json) return liveScreen(history, { onEnd, forget });
  return {
    show: (snapshot, notice) => {
      if (notice !== null) process.stderr.write(`${notice}\n`);
      else if (json) printJsonLine(snapshotFields(snapshot, history.rates), flags);
      else process.stdout.write(`${plainTop({ snapshot, rates: history.rates })}\n`);
    },
    end: forget,
  };
}

function liveScreen(
  history: History,
  { onEnd, forget }: { readonly onEnd: () => void; readonly forget: () => void },
): TopScreen {
  const { stdin, stdout } = process;
  const screen = new LiveScreen(stdout);
  let draw = (): void => undefined;
  const onKey = (key: Buffer): void => {
    // In raw mode, Ctrl+C arrives as a key.
    if (key.includes("q") || key.includes(3)) onEnd();
  };
  const onResize = (): void => draw();
  stdout.on("resize", onResize);
  if (stdin.isTTY) {
    stdin.setRawMode(true);
    stdin.on("data", onKey);
  }
  return {
    show: (snapshot, notice) => {
      draw = () => {
        const { columns, rows } = stdout;
        const { rates, curves } = history;
        screen.show(renderTop({ snapshot, rates, curves, notice }, { columns, rows }));
      };
      draw();
    },
    end: () => {
      screen.end();
      stdout.off("resize", onResize);
      if (stdin.isTTY) {
        stdin.off("data", onKey);
        stdin.setRawMode(false);
        stdin.pause();
      }
      forget();
    },
  };
}
