// Shows the progress of adding a model. On a terminal, it draws a bar with speed and time left; in other outputs, such
// as a log, it prints a line for every 10 %. Works for any source of bytes.
import { systemClock, type Clock } from "../../base/domain/clock.ts";
import { sizeText } from "../../base/domain/text/size-text.ts";
import type { AddProgress } from "../server/library/model-commands.ts";
import { duration } from "./duration.ts";
import { LiveScreen } from "./watch/live-screen.ts";

export interface AddScreenOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Time over which the speed is measured, and minimum interval between redraws, both in milliseconds. */
const [speedWindowMs, redrawMs] = [10_000, 100];
const barLength = 24;

type Bytes = AddProgress & { readonly kind: "bytes" };

/** A point in time, and the number of bytes downloaded until then. */
type Mark = readonly [atMs: number, bytes: number];

export class AddScreen {
  readonly #output: AddScreenOutput;
  readonly #clock: Clock;
  readonly #live: LiveScreen | null;
  #marks: Mark[] = [];
  #drawnAtMs = -Infinity;
  #tenth: number | null = null;

  constructor(output: AddScreenOutput, clock: Clock = systemClock) {
    this.#output = output;
    this.#clock = clock;
    this.#live = output.isTTY === true ? new LiveScreen(output) : null;
  }

  show(progress: AddProgress): void {
    switch (progress.kind) {
      case "begun":
        return this.#line(begunText(progress));
      case "pause":
        return this.#line(`${progress.reason}; retrying in ${duration(progress.seconds)}`);
      case "check":
        return this.#line("checking files");
      case "bytes":
        return this.#showBytes(progress);
    }
  }

  /** Stops the display and leaves the last line on the screen. */
  end(): void {
    this.#live?.end();
  }

  #line(text: string): void {
    this.#live?.end();
    this.#output.write(`${text}\n`);
  }

  #showBytes(progress: Bytes): void {
    const nowMs = this.#clock.monotonicMs();
    const { bytes, bytesInAll } = progress;
    this.#mark(nowMs, bytes);
    const isAll = bytes === bytesInAll;
    if (this.#live !== null) {
      if (!isAll && nowMs - this.#drawnAtMs < redrawMs) return;
      this.#drawnAtMs = nowMs;
      // Some pseudo-terminals report a width of 0; 80 is used for them.
      this.#live.show([barText(progress, this.#speed()).slice(0, (this.#output.columns || 80) - 1)]);
      return;
    }
    const tenth = bytesInAll === 0 ? 10 : Math.floor((bytes / bytesInAll) * 10);
    const isNew = this.#tenth !== null && tenth > this.#tenth;
    this.#tenth = tenth;
    if (isNew) this.#output.write(`${amountText(progress, this.#speed())}\n`);
  }

  /** Adds a mark. Keeps at most one mark per redraw interval, because thousands of chunks may arrive. */
  #mark(nowMs: number, bytes: number): void {
    const [latestMs] = this.#marks.at(-2) ?? [-Infinity];
    if (nowMs - latestMs < redrawMs) this.#marks.pop();
    this.#marks = [...this.#marks.filter(([atMs]) => atMs >= nowMs - speedWindowMs), [nowMs, bytes]];
  }

  /** Returns bytes per second over the speed window; null if the marks span less than half a second. */
  #speed(): number | null {
    const [[firstMs, first], [lastMs, last]] = [this.#marks[0], this.#marks[this.#marks.length - 1]];
    return lastMs - firstMs < 500 ? null : ((last - first) * 1000) / (lastMs - firstMs);
  }
}

function begunText({
  name,
  source,
  license,
  fileCount,
  bytes,
}: AddProgress & { readonly kind: "begun" }): string {
  const { repository, commit } = source;
  return `${name}: ${fileCount} files, ${sizeText(bytes)}, ${license ?? "unknown licence"}, from ${repository} at ${commit.slice(0, 12)}`;
}

function barText(progress: Bytes, speed: number | null): string {
  const { bytes, bytesInAll, file } = progress;
  const full = Math.round((bytes / Math.max(bytesInAll, 1)) * barLength);
  return `${"█".repeat(full)}${"░".repeat(barLength - full)} ${amountText(progress, speed)}  ${file}`;
}

function amountText({ bytes, bytesInAll }: Bytes, speed: number | null): string {
  const percent = bytesInAll === 0 ? 100 : Math.floor((bytes / bytesInAll) * 100);
  const amount = `${percent} %  ${sizeText(bytes)} of ${sizeText(bytesInAll)}`;
  if (speed === null || speed <= 0) return amount;
  const left = bytes === bytesInAll ? "" : `  ${duration((bytesInAll - bytes) / speed)} left`;
  return `${amount}  ${(speed / 1e6).toFixed(1)} MB/s${left}`;
}
