// Lines at the bottom of a terminal that are written over each time they change: only what changes is sent, all of it at
// once, and the cursor is out of the way meanwhile, so that nothing flickers.

export interface Terminal {
  write(text: string): unknown;
}

const [hideCursor, showCursor] = ["\u001b[?25l", "\u001b[?25h"];
/** Terminals that know these show what is between them at once; others leave them out. */
const [beginUpdate, endUpdate] = ["\u001b[?2026h", "\u001b[?2026l"];
const [eraseToLineEnd, eraseBelow] = ["\u001b[K", "\u001b[J"];

export class LiveScreen {
  readonly #terminal: Terminal;
  #shown: readonly string[] = [];
  #isHidden = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows these lines in place of those that are shown; none is longer than the terminal is wide. */
  show(lines: readonly string[]): void {
    if (lines.length === this.#shown.length && lines.every((line, index) => line === this.#shown[index]))
      return;
    const up = this.#shown.length === 0 ? "" : `\u001b[${this.#shown.length}A`;
    const written = lines.map((line, index) =>
      line === this.#shown[index] ? "\n" : `\r${line}${eraseToLineEnd}\n`,
    );
    const hide = this.#isHidden ? "" : hideCursor;
    this.#isHidden = true;
    this.#terminal.write(`${beginUpdate}${hide}${up}\r${written.join("")}${eraseBelow}${endUpdate}`);
    this.#shown = lines;
  }

  /** Leaves what is shown, and gives the cursor back. */
  end(): void {
    if (this.#isHidden) this.#terminal.write(showCursor);
    this.#isHidden = false;
    this.#shown = [];
  }
}
