// The newest lines of the log, kept in memory for administrators who cannot read standard error. Their number and bytes
// are limited; the oldest lines are removed first. Lines are kept as text, and parsed only for readers.
import { newUuid } from "../domain/random.ts";
import { lineLevels, type LineLevel, type LogLine } from "../domain/logs/log-line.ts";
import { fittingCount, pageBytesMax, type Page, type PageRequest } from "../domain/page.ts";
import { invalid, quoted } from "../domain/service-error.ts";

export interface RecentLogLimits {
  readonly linesMax: number;
  /** Maximum number of bytes (UTF-8) of all lines together. A single line that is longer is not kept. */
  readonly bytesMax: number;
}

interface KeptLine {
  readonly json: string;
  readonly bytes: number;
}

const defaultLimits: RecentLogLimits = { linesMax: 1000, bytesMax: 1024 * 1024 };

export class RecentLog {
  readonly #limits: RecentLogLimits;
  /** Prefix that distinguishes the ids of this process's lines from those of earlier starts. */
  readonly #start = newUuid().slice(0, 8);
  /** Ring buffer, in which the line with number `n` is at index `n % linesMax`. */
  readonly #lines: (KeptLine | undefined)[] = [];
  /** Number of the oldest line. `#next` is the number that the next line will get. */
  #first = 0;
  #next = 0;
  #bytes = 0;
  readonly #readers = new Set<() => void>();

  constructor(limits: RecentLogLimits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * Keeps a line.
   *
   * @param json line as the logging library writes it, which is a JSON object
   */
  add(json: string): void {
    const { linesMax, bytesMax } = this.#limits;
    const bytes = Buffer.byteLength(json);
    if (bytes > bytesMax) return;
    while (this.#next - this.#first >= linesMax || this.#bytes + bytes > bytesMax) this.#dropFirst();
    this.#lines[this.#next % linesMax] = { json, bytes };
    this.#next += 1;
    this.#bytes += bytes;
    for (const wake of this.#readers) wake();
  }

  /**
   * Returns a page of the lines that have at least this level. A cursor for a removed line, or from an earlier start,
   * means the beginning.
   *
   * @throws ServiceError `invalid` for a cursor that is no id of a line
   */
  list({ after, limit, bytesMax = pageBytesMax, order }: PageRequest, level: LineLevel): Page<LogLine> {
    const numbers = this.#numbersBehind(after, order, level);
    const sizes = numbers.slice(0, limit).map((number) => this.#at(number).bytes);
    const count = fittingCount(sizes, bytesMax);
    return {
      items: numbers.slice(0, count).map((number) => this.#parsed(number)),
      hasMore: numbers.length > count,
    };
  }

  /**
   * Yields the lines after the cursor that have at least this level, as they arrive, until the signal aborts. Lines
   * that are removed before a slow reader has read them are skipped; the numbers in the ids show the gap.
   *
   * @throws ServiceError as `list`
   */
  async *follow(
    { after, level }: { readonly after: string | null; readonly level: LineLevel },
    signal: AbortSignal,
  ): AsyncGenerator<LogLine, void> {
    for (let number = after === null ? 0 : this.#numberOf(after) + 1; !signal.aborted;) {
      number = Math.max(number, this.#first);
      if (number >= this.#next) await this.#added(signal);
      else {
        if (isAtLeast(this.#at(number).json, level)) yield this.#parsed(number);
        number += 1;
      }
    }
  }

  /** Resolves when a line is added, or when the signal aborts. */
  async #added(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#readers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#readers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      if (signal.aborted) wake();
    });
  }

  #dropFirst(): void {
    const index = this.#first % this.#limits.linesMax;
    this.#bytes -= this.#lines[index]?.bytes ?? 0;
    this.#lines[index] = undefined;
    this.#first += 1;
  }

  #at(number: number): KeptLine {
    const line = this.#lines[number % this.#limits.linesMax];
    if (line === undefined) throw new Error(`must hold: line ${number} is kept`);
    return line;
  }

  #numbersBehind(after: string | null, order: PageRequest["order"], level: LineLevel): readonly number[] {
    const cursor = after === null ? null : this.#numberOf(after);
    const [from, end] =
      order === "asc"
        ? [Math.max(this.#first, (cursor ?? -1) + 1), this.#next]
        : [this.#first, Math.min(this.#next, cursor ?? this.#next)];
    const numbers: number[] = [];
    for (let number = from; number < end; number++)
      if (isAtLeast(this.#at(number).json, level)) numbers.push(number);
    return order === "asc" ? numbers : numbers.toReversed();
  }

  /** Returns the number of the line with an id; −1 if the id comes from an earlier start. */
  #numberOf(id: string): number {
    const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(id);
    if (match === null) {
      const message = `${quoted(id)} is no id of a log line; those look like 0123abcd-42.`;
      throw invalid(message);
    }
    return match[1] === this.#start ? Math.min(Number(match[2]), this.#next - 1) : -1;
  }

  #parsed(number: number): LogLine {
    // Safe cast: the logging library has written the line.
    const { level, time, msg, ...fields } = JSON.parse(this.#at(number).json) as {
      readonly level: number;
      readonly time: string;
      readonly msg?: string;
    };
    return { id: `${this.#start}-${number}`, time, level: levelOf(level), message: msg ?? "", fields };
  }
}

/**
 * True if the line has at least this level. The logging library writes the level first, so the line need not be parsed.
 */
function isAtLeast(json: string, level: LineLevel): boolean {
  const number = Number(/^\{"level":(\d+)/.exec(json)?.[1] ?? 0);
  return lineLevels.indexOf(levelOf(number)) >= lineLevels.indexOf(level);
}

function levelOf(number: number): LineLevel {
  if (number >= 50) return "error";
  if (number >= 40) return "warn";
  return number >= 30 ? "info" : "debug";
}
