import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveScreen } from "./live-screen.ts";

const escape = "\u001b";
/** Matches an escape code, a line end, or text. */
const parts = new RegExp(`${escape}\\[\\??\\d*[A-Za-z]|[\\r\\n]|[^${escape}\\r\\n]+`, "g");

/** Interprets the escape codes that the screen writes, and counts the writes. */
class FakeTerminal {
  readonly lines: string[] = [""];
  writeCount = 0;
  isCursorShown = true;
  #row = 0;
  #column = 0;

  write(text: string): void {
    this.writeCount += 1;
    for (const [part] of text.matchAll(parts)) this.#take(part);
  }

  #take(part: string): void {
    if (/^.\[\d+A$/.test(part)) this.#row -= parseInt(part.slice(2), 10);
    else if (part === "\r") this.#column = 0;
    else if (part === "\n") {
      this.#row += 1;
      this.#column = 0;
      this.lines[this.#row] ??= "";
    } else if (part === "\u001b[K") this.lines[this.#row] = this.lines[this.#row].slice(0, this.#column);
    else if (part === "\u001b[J") {
      this.lines.length = this.#row + 1;
      this.#take("\u001b[K");
    } else if (part === "\u001b[?25l" || part === "\u001b[?25h") this.isCursorShown = part.endsWith("h");
    else if (!part.startsWith("\u001b")) {
      const line = this.lines[this.#row];
      this.lines[this.#row] = line.slice(0, this.#column) + part + line.slice(this.#column + part.length);
      this.#column += part.length;
    }
  }
}

test("overwrites lines in place when their number or length changes", () => {
  const terminal = new FakeTerminal();
  terminal.write("before\n");
  const screen = new LiveScreen(terminal);
  for (const lines of [["a long line", "b"], ["short", "b", "c"], ["short", "b longer"], []]) {
    screen.show(lines);
    assert.deepEqual(terminal.lines, ["before", ...lines, ""]);
  }
});

test("writes a change in one call, and nothing if nothing changed", () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen(terminal);
  screen.show(["a", "b"]);
  screen.show(["a", "b"]);
  assert.equal(terminal.writeCount, 1);
  screen.show(["a", "c"]);
  assert.deepEqual([terminal.writeCount, terminal.lines], [2, ["a", "c", ""]]);
});

test("hides the cursor while lines change, and at the end shows it again below them", () => {
  const terminal = new FakeTerminal();
  const screen = new LiveScreen(terminal);
  screen.end();
  assert.equal(terminal.writeCount, 0);
  screen.show(["a"]);
  assert.equal(terminal.isCursorShown, false);
  screen.end();
  terminal.write("after");
  assert.deepEqual([terminal.isCursorShown, terminal.lines], [true, ["a", "after"]]);
});
