// Lines at the bottom of a terminal that are overwritten when they change. To avoid flicker, only changed lines are
// written, in one call, with the cursor hidden.

export interface Terminal {
  write(text: string): unknown;
}

const [hideCursor, showCursor] = ["\u001b[?25l", "\u001b[?25h"];
/**
 * Escape codes of a synchronized update: terminals that support it display the enclosed output in one step; others
 * ignore the codes.
 */
const [beginUpdate, endUpdate] = ["\u001b[?2026h", "\u001b[?2026l"];
const [eraseToLineEnd, eraseBelow] = ["\u001b[K", "\u001b[J"];

export class LiveScreen {
  readonly #terminal: Terminal;
  #shown: readonly string[] = [];
  #isHidden = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Replaces the displayed lines. No line may be wider than the terminal. */
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

  /** Leaves the lines on the screen and shows the cursor again. */
  end(): void {
    if (this.#isHidden) this.#terminal.write(showCursor);
    this.#isHidden = false;
    this.#shown = [];
  }
}
