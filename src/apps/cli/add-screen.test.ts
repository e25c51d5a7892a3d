// Tests of the progress display for adding a model, on a terminal and for output that is not a terminal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import { AddScreen } from "./add-screen.ts";

/** Matches the bar and its text, up to the escape code that erases the rest of the line. */
const barPattern = new RegExp(["([█░]+) ?(.*?)(?=", ")"].join("\u001b"));

/**
 * Returns a screen, its output, and a function `at`. That function sets the clock to a second, and reports the number
 * of megabytes downloaded by then, of 200.
 */
function opened(output: { readonly isTTY?: boolean; readonly columns?: number }) {
  let nowMs = 0;
  const written: string[] = [];
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const screen = new AddScreen({ ...output, write: (text) => written.push(text) }, clock);
  const at = (second: number, megabytes: number): void => {
    nowMs = second * 1000;
    screen.show({ kind: "bytes", file: "model.safetensors", bytes: megabytes * 1e6, bytesInAll: 200e6 });
  };
  return { screen, written, at };
}

test("shows a bar on a terminal, with the recent speed and the time left", () => {
  const { screen, written, at } = opened({ isTTY: true, columns: 100 });
  at(0, 0);
  at(10, 50);
  // The screen redraws at most ten times per second, so this call prints nothing.
  at(10.05, 51);
  at(20, 150);
  screen.end();
  const bars = written.map((text) => barPattern.exec(text)?.slice(1));
  assert.deepEqual(
    bars.filter((bar) => bar !== undefined),
    [
      ["░".repeat(24), "0 %  0 bytes of 200 MB  model.safetensors"],
      ["█".repeat(6) + "░".repeat(18), "25 %  50 MB of 200 MB  5.0 MB/s  30 s left  model.safetensors"],
      ["█".repeat(18) + "░".repeat(6), "75 %  150 MB of 200 MB  10.0 MB/s  5 s left  model.safetensors"],
    ],
  );
});

test("cuts each line to the width of the terminal", () => {
  const { written, at } = opened({ isTTY: true, columns: 30 });
  at(1, 100);
  assert.equal(barPattern.exec(written[0] ?? "")?.[0].length, 29);
});

test("assumes 80 columns if the terminal reports no width", () => {
  const { written, at } = opened({ isTTY: true, columns: 0 });
  at(1, 100);
  assert.match(barPattern.exec(written[0] ?? "")?.[0] ?? "", / model\.safetensors$/);
});

test("prints a line per 10 % and a line per retry if the output is not a terminal", () => {
  const { screen, written, at } = opened({});
  const source = {
    kind: "hub",
    endpoint: "",
    repository: "o/n",
    revision: "main",
    commit: "0123456789abcdef",
    quantization: null,
  } as const;
  screen.show({ kind: "begun", name: "n", source, license: null, fileCount: 7, bytes: 200e6 });
  for (let megabytes = 0; megabytes <= 200; megabytes += 5) at(megabytes / 10, megabytes);
  screen.show({ kind: "pause", reason: "the connection was cut", seconds: 4 });
  screen.end();
  assert.equal(written.length, 12);
  assert.equal(written[0], "n: 7 files, 200 MB, unknown licence, from o/n at 0123456789ab\n");
  assert.equal(written[1], "10 %  20 MB of 200 MB  10.0 MB/s  18 s left\n");
  assert.equal(written[10], "100 %  200 MB of 200 MB  10.0 MB/s\n");
  assert.equal(written[11], "the connection was cut; retrying in 4 s\n");
});
