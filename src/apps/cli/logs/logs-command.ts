// `hone logs`: print the newest lines of a running server's log; with --follow, also print new lines as they are
// logged.
import { InvalidArgumentError, Option, type Command } from "commander";
import type { LogLine } from "../../client/api.ts";
import { HoneError } from "../../client/hone-error.ts";
import type { Hone } from "../../client/hone.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { lineLevels, type LineLevel } from "../../../base/domain/logs/log-line.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { logText } from "./log-text.ts";
import { printJsonLine } from "../json-output.ts";

interface LogFlags extends ConnectionFlags {
  readonly follow?: boolean;
  readonly lines: number;
  readonly level: LineLevel;
  readonly json?: boolean;
}

const linesMax = 1000;

const about = `
The command prints the log of the server that answers. If several servers share a database, each has its own log. A server
keeps the newest 1,000 lines since its start, at most 1 MiB, of the level server.logLevel and above. Older lines exist only
where you sent its standard error.

An admin key is required. With --follow, the command waits up to two minutes for a server that restarts. Ctrl+C ends it.`;

export function addLogsCommand(program: Command): void {
  addConnectionFlags(program.command("logs").description("Print the newest lines of a running server's log."))
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <count>", `number of recent lines to print, 0 to ${linesMax}`, count, 100)
    .addOption(
      new Option("--level <level>", "only lines of this level or a more severe one")
        .choices(lineLevels)
        .default("debug"),
    )
    .option("--json", "print one JSON object per line")
    .addHelpText("after", about)
    .action(printLog);
}

function count(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) <= linesMax) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${linesMax}.`);
}

async function printLog(flags: LogFlags): Promise<void> {
  const { level, lines, json = false } = flags;
  const client = connect(flags);
  const isColoured = process.stdout.isTTY && process.stdout.hasColors();
  const print = (line: LogLine): void =>
    json ? printJsonLine(line, flags) : void process.stdout.write(logText(line, { isColoured }));
  const { newest, last } = await newestLines(client, level, lines);
  newest.forEach(print);
  if (flags.follow === true) await follow(client, { level, after: last, print });
  else if (newest.length === 0 && !json && lines > 0) process.stdout.write(`${nothingAt(level)}\n`);
}

function nothingAt(level: LineLevel): string {
  const which = level === "debug" ? "no lines" : `no lines of level ${level} or above`;
  return `The server has logged ${which} since its start.`;
}

interface Newest {
  /** Newest lines, oldest first. */
  readonly newest: readonly LogLine[];
  /**
   * Id of the server's newest line, even if the line's level is too low to print; null if the server has logged no
   * line.
   */
  readonly last: string | null;
}

async function newestLines(client: Hone, level: LineLevel, lines: number): Promise<Newest> {
  const found: LogLine[] = [];
  const limit = Math.min(100, Math.max(1, lines));
  for await (const { data } of client.server.logs({ level, limit }).pages()) {
    found.push(...data);
    if (found.length >= lines) break;
  }
  return { newest: found.slice(0, lines).toReversed(), last: found[0]?.id ?? null };
}

interface Following {
  readonly level: LineLevel;
  readonly after: string | null;
  readonly print: (line: LogLine) => void;
}

const retryMs = 1000;
const retriesMax = 120;

/**
 * Prints new lines until the process ends.
 *
 * @throws HoneError if the server refuses the request, or cannot be reached for about two minutes
 */
async function follow(client: Hone, { level, after, print }: Following): Promise<void> {
  let last = after;
  let retries = 0;
  const onOpen = (): void => void (retries = 0);
  for (; ; retries++) {
    try {
      const query = { level, ...(last === null ? {} : { after: last }) };
      for await (const line of client.server.watchLogs(query, { onOpen })) {
        const missing = missingBetween(last, line.id);
        if (missing > 0 && level === "debug")
          process.stderr.write(
            `(${missing} lines missing: the server logged them faster than they could be read)\n`,
          );
        last = line.id;
        print(line);
      }
    } catch (error) {
      if (!mayPass(error) || retries >= retriesMax) throw error;
      if (retries === 0)
        process.stderr.write(
          `The log was cut off (${error.message}). Waiting for the server to come back.\n`,
        );
    }
    await systemClock.sleep(retryMs);
  }
}

/** Returns the number of lines between two ids; 0 if the server restarted in between. */
function missingBetween(before: string | null, id: string): number {
  const [start, number] = id.split("-");
  const [startBefore, numberBefore] = (before ?? "").split("-");
  return start === startBefore ? Number(number) - Number(numberBefore) - 1 : 0;
}

/** True for errors that a server restart or a network fault causes; false if the server refused the request. */
function mayPass(error: unknown): error is HoneError {
  if (!(error instanceof HoneError)) return false;
  return error.status === 0
    ? error.code !== "invalid"
    : error.status === 429 || error.status >= 500 || isStopping(error);
}

/**
 * True if a stream ended because the server is stopping. Such an error has status 200, since the stream had already
 * started.
 */
function isStopping({ code }: HoneError): boolean {
  return ["unavailable", "cancelled", "overloaded"].includes(code);
}
