// Lines for a reader that keeps up, pauses, reads again, or goes away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedOutput, type OutputChannel } from "./bounded-output.ts";

/** A reader that accepts a write only when the test says so. */
class PausedReader implements OutputChannel {
  readonly #writes: { readonly text: string; readonly done: (error: Error | null) => void }[] = [];
  text = "";

  write(text: string, done: (error: Error | null) => void): void {
    this.#writes.push({ text, done });
  }

  /** Accepts the pending write. Returns false if there is none. */
  take(error: Error | null = null): boolean {
    const next = this.#writes.shift();
    if (next === undefined) return false;
    if (error === null) this.text += next.text;
    next.done(error);
    return true;
  }

  takeAll(): void {
    while (this.take());
  }
}

const noticeOf = (count: number): string => `missing ${count}\n`;
const line = (number: number): string => `line ${String(number).padStart(4, "0")}\n`;
const lineBytes = line(0).length;
const numbersIn = (text: string): readonly string[] => text.trimEnd().split("\n");

test("passes every line immediately and in order to a reader that keeps up", () => {
  let text = "";
  const channel: OutputChannel = {
    write: (given, done) => {
      text += given;
      done(null);
    },
  };
  const output = new BoundedOutput(channel, { bytesMax: 2 * lineBytes, noticeOf });
  let expected = "";
  for (let number = 0; number < 100; number++) {
    output.write(line(number));
    expected += line(number);
    assert.equal(text, expected);
  }
  assert.equal(output.droppedCount, 0);
});

test("gives a pausing reader the kept lines, the number of missing lines, and then later lines", () => {
  const reader = new PausedReader();
  const output = new BoundedOutput(reader, { bytesMax: 10 * lineBytes, noticeOf });
  for (let number = 0; number < 25; number++) output.write(line(number));
  assert.equal(output.droppedCount, 15);
  reader.takeAll();
  const kept = Array.from({ length: 10 }, (_, number) => line(number).trimEnd());
  assert.deepEqual(numbersIn(reader.text), [...kept, "missing 15"], "said without another line");
  output.write(line(25));
  reader.takeAll();
  assert.deepEqual(numbersIn(reader.text), [...kept, "missing 15", "line 0025"]);
});

test("keeps no line after a gap before the gap is announced", () => {
  const reader = new PausedReader();
  const output = new BoundedOutput(reader, { bytesMax: 10 * lineBytes, noticeOf });
  // The first line is being written. When it is done, there is room for one more line, but half of the buffer is not
  // free yet.
  for (let number = 0; number < 12; number++) output.write(line(number));
  reader.take();
  output.write(line(12));
  reader.takeAll();
  const found = numbersIn(reader.text);
  assert.equal(found.length, 11);
  assert.equal(found[10], "missing 3");
});

test("counts the lines of a longer text, and announces one that never fits immediately", () => {
  const reader = new PausedReader();
  const output = new BoundedOutput(reader, { bytesMax: 10 * lineBytes, noticeOf });
  output.write(line(1).repeat(11));
  reader.takeAll();
  assert.equal(reader.text, "missing 11\n");
  assert.equal(output.droppedCount, 11);
});

test("announces lines lost in a write with the next line, without repeated attempts on a gone reader", () => {
  const reader = new PausedReader();
  const output = new BoundedOutput(reader, { bytesMax: 10 * lineBytes, noticeOf });
  output.write(line(1));
  output.write(line(2));
  while (reader.take(new Error("EPIPE")));
  assert.equal(output.droppedCount, 2);
  assert.equal(reader.take(), false);
  output.write(line(3));
  while (reader.take(new Error("EPIPE")));
  assert.equal(output.droppedCount, 3, "a notice that is lost counts no line twice");
  output.write(line(4));
  reader.takeAll();
  assert.deepEqual(numbersIn(reader.text), ["missing 3", "line 0004"]);
});

test("ends a flush with the last write, or at its deadline", async () => {
  const reader = new PausedReader();
  const output = new BoundedOutput(reader, { bytesMax: 1000, noticeOf });
  await output.flush(1_000_000);
  output.write(line(1));
  await output.flush(1);
  assert.equal(reader.text, "");
  const flushed = output.flush(1_000_000);
  reader.takeAll();
  await flushed;
  assert.equal(reader.text, line(1));
});
