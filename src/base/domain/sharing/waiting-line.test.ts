import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitingLine } from "./loop-turns.ts";

function lineOf(...items: readonly string[]): WaitingLine<string> {
  const line = new WaitingLine<string>();
  for (const item of items) line.add(item.slice(0, 1), item);
  return line;
}

function takeAll(line: WaitingLine<string>): string {
  const taken: string[] = [];
  for (let item = line.takeNext(); item !== undefined; item = line.takeNext()) taken.push(item);
  assert.equal(line.length, 0);
  return taken.join(" ");
}

test("lets clients take turns and keeps the order of each client's items", () => {
  assert.equal(takeAll(lineOf("a1", "a2", "a3", "b1", "c1", "b2")), "a1 b1 c1 a2 b2 a3");
  assert.equal(takeAll(lineOf()), "");
});

test("puts a returning client behind those that have not had a turn", () => {
  const line = lineOf("a1", "b1");
  assert.equal(line.takeNext(), "a1");
  line.add("a", "a2");
  assert.equal(takeAll(line), "b1 a2");
});

test("gives a removed item's place to the client's next, and ignores a second removal", () => {
  const line = lineOf("a1", "a2", "b1");
  line.remove("a", "a1");
  line.remove("a", "a1");
  line.remove("c", "a2");
  assert.equal(line.length, 2);
  line.remove("b", "b1");
  assert.equal(takeAll(line), "a2");
});
