// Tests how many answers are taken in one iteration of the event loop if they arrive together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerPort } from "./session-link.ts";

/** Time in milliseconds on a clock that advances only with work. */
let workedMs = 0;
const clock = { monotonicMs: () => workedMs };

/** Works for longer than answers may take in one turn of the event loop. */
function workLong(): void {
  workedMs += 6;
}

test("gives each slow answer a separate turn, and other work a turn in between", async () => {
  const turns: number[] = [];
  let turn = 0;
  const port = new AnswerPort<number>((answer) => {
    workLong();
    assert.equal(answer, turns.length);
    turns.push(turn);
  }, clock);
  for (let answer = 0; answer < 5; answer++) {
    port.threadEnd.postMessage(answer, []);
    port.announce();
  }
  for (; turns.length < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(new Set(turns).size, 5, turns.join());
  port.end();
});

test("counts the work of an answer's waiters towards its turn", async () => {
  const turns: number[] = [];
  let turn = 0;
  let answerArrives: () => void = () => undefined;
  const port = new AnswerPort<number>(() => answerArrives(), clock);
  const ask = async (): Promise<void> => {
    const answered = new Promise<void>((resolve) => (answerArrives = resolve));
    port.threadEnd.postMessage(0, []);
    port.announce();
    await answered;
    workLong();
    turns.push(turn);
  };
  const reader = async (): Promise<void> => {
    for (let count = 0; count < 5; count++) await ask();
  };
  const reading = reader();
  for (; turns.length < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  await reading;
  assert.equal(new Set(turns).size, 5, turns.join());
  port.end();
});

test("takes small available answers together, and all answers when the thread ends", async () => {
  const seen: number[] = [];
  const port = new AnswerPort<number>((answer) => seen.push(answer), clock);
  const post = (answer: number): void => {
    port.threadEnd.postMessage(answer, []);
    port.announce();
  };
  for (let answer = 0; answer < 10; answer++) post(answer);
  for (let tick = 0; tick < 20; tick++) await Promise.resolve();
  assert.equal(seen.length, 10);
  port.threadEnd.postMessage(10, []);
  port.threadEnd.postMessage(11, []);
  port.announce();
  port.announce();
  port.end();
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});
