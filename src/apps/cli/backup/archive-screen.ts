// Shows the progress of writing or reading an archive. On a terminal, it redraws one line. In other outputs, such as a
// log, it adds a line for each table with its number of rows, and a line for every 10 % of the files.
import { counted } from "../../../base/domain/text/counted.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { systemClock, type Clock } from "../../../base/domain/clock.ts";
import type { Progress } from "../../server/backup/archive-commands.ts";
import { LiveScreen } from "../watch/live-screen.ts";

export interface ArchiveScreenOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Minimum interval between redraws in milliseconds. */
const redrawMs = 100;

type Rows = Progress & { readonly kind: "rows" };
type Files = Progress & { readonly kind: "files" };

export class ArchiveScreen {
  readonly #output: ArchiveScreenOutput;
  readonly #clock: Clock;
  readonly #live: LiveScreen | null;
  #drawnAtMs = -Infinity;
  #rows: Rows | null = null;
  #place = "";
  #tenth = 0;

  constructor(output: ArchiveScreenOutput, clock: Clock = systemClock) {
    this.#output = output;
    this.#clock = clock;
    this.#live = output.isTTY === true ? new LiveScreen(output) : null;
  }

  show(progress: Progress): void {
    switch (progress.kind) {
      case "table":
        this.#endTable();
        this.#place = `${progress.index + 1} of ${progress.count}`;
        return this.#draw(`table ${this.#place}: ${progress.table}`);
      case "rows":
        this.#rows = progress;
        return this.#draw(`table ${this.#place}: ${rowsText(progress)}`);
      case "files":
        this.#endTable();
        return this.#showFiles(progress);
    }
  }

  /** Stops the display and leaves the last line on the screen. */
  end(): void {
    this.#endTable();
    this.#live?.end();
  }

  #endTable(): void {
    if (this.#rows !== null && this.#live === null) this.#output.write(`${rowsText(this.#rows)}\n`);
    this.#rows = null;
  }

  #showFiles(progress: Files): void {
    const { files, filesInAll } = progress;
    this.#draw(filesText(progress));
    if (this.#live !== null) return;
    const tenth = filesInAll === 0 ? 0 : Math.floor((files / filesInAll) * 10);
    if (tenth > this.#tenth) this.#output.write(`${filesText(progress)}\n`);
    this.#tenth = tenth;
  }

  #draw(line: string): void {
    if (this.#live === null) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#drawnAtMs < redrawMs) return;
    this.#drawnAtMs = nowMs;
    // Some pseudo-terminals report a width of 0; 80 is used for them.
    this.#live.show([line.slice(0, (this.#output.columns || 80) - 1)]);
  }
}

function rowsText({ table, rows }: Rows): string {
  return `${table}: ${counted(rows, "row")}`;
}

function filesText({ files, filesInAll, bytes, bytesInAll }: Files): string {
  const size = bytesInAll === 0 ? sizeText(bytes) : `${sizeText(bytes)} of ${sizeText(bytesInAll)}`;
  return `files: ${files} of ${filesInAll}, ${size}`;
}
