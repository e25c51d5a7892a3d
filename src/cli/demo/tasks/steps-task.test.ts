import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../domain/random.ts";
import { rewardOf, stepsTask, type Problem } from "./steps-task.ts";

/** What a problem's text says, computed apart from the task. */
function told(text: string): number {
  let left = 0;
  for (const sentence of text.split(". ")) {
    const count = Number(/\d+/.exec(sentence)?.[0] ?? 0);
    if (/ has \d/.test(sentence)) left = count;
    else if (/buys|finds|brings|gets|picks/.test(sentence)) left += count;
    else if (/gives away|loses|sells|break|hands/.test(sentence)) left -= count;
  }
  return left;
}

test("the steps and the answer of every lesson follow from its text", () => {
  const lessons = stepsTask.lessons?.draw(seededRandom("test")) ?? [];
  assert.ok(lessons.length > 50);
  for (const { messages } of lessons) {
    const [, question, answer] = messages.map(({ content }) => content ?? "");
    const lines = answer?.split("\n") ?? [];
    let left: number | null = null;
    for (const step of lines.slice(0, -1)) {
      const [, first, operation, second, result] = /^(\d+)([+-])(\d+)=(\d+)$/.exec(step) ?? [];
      if (left !== null) assert.equal(Number(first), left);
      left = operation === "+" ? Number(first) + Number(second) : Number(first) - Number(second);
      assert.equal(Number(result), left);
    }
    assert.equal(lines.at(-1), `Answer: ${left}`);
    assert.equal(told(question ?? ""), left, question);
  }
});

test("tests are other problems of other people, and only their last line counts", () => {
  const practised = stepsTask.practice(seededRandom("test"));
  const names = new Set(practised.map(({ text }) => text.split(" ", 1)[0]));
  for (const { text, judge } of stepsTask.test) {
    assert.ok(!names.has(text.split(" ", 1)[0]), text);
    assert.equal(judge(`1+1=2\nAnswer: ${told(text)}`), 1, text);
    assert.equal(judge(`1+1=2\nAnswer: ${told(text) + 1}`), 0, text);
  }
});

test("steps that are right earn up to a half, the answer all", () => {
  const problem: Problem = { text: "", steps: ["7+5=12", "12-3=9"], answer: 9 };
  const cases: readonly (readonly [string, number])[] = [
    ["7+5=12\n12-3=9\nAnswer: 9", 1],
    ["Answer: 9", 1],
    ["7+5=12\n12-3=9\nAnswer: 8", 0.5],
    ["7+5=12\n12-3=8\nAnswer: 8", 0.25],
    ["7+5=13\n13-3=10\nAnswer: 10", 0],
    ["", 0],
  ];
  for (const [answer, reward] of cases) assert.equal(rewardOf(problem, answer), reward, answer);
});
