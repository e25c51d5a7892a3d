import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../base/domain/random.ts";
import { rewardOf, stepsTask, type Problem } from "./steps-task.ts";

/** Computes a problem's answer from its text, independently of the task's code. */
function asked(text: string): number {
  const [groups = 0, each = 0, more = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return groups * each + more;
}

test("derives the steps and the answer of each lesson from its text", () => {
  const lessons = stepsTask.lessons?.draw(seededRandom("test")) ?? [];
  assert.ok(lessons.length > 50);
  for (const { messages } of lessons) {
    const [, question, answer] = messages.map(({ content }) => (typeof content === "string" ? content : ""));
    const steps = (answer ?? "").split("\n").map((step) => /^(\d+)([*+])(\d+)=(\d+)$/.exec(step)?.slice(1));
    assert.equal(steps.length, 2, answer);
    let reached: string | undefined;
    for (const [first, operation, second, result] of steps.map((step) => step ?? [])) {
      if (reached !== undefined) assert.equal(first, reached);
      reached = result;
      assert.equal(
        Number(result),
        operation === "*" ? Number(first) * Number(second) : Number(first) + Number(second),
      );
    }
    assert.equal(Number(reached), asked(question ?? ""), question);
  }
});

test("tests with problems in other words than practice, and counts only the result in the last line", () => {
  const practised = stepsTask.practice(seededRandom("test"));
  const normalizeDigits = (text: string): string => text.replace(/\d+/g, "#");
  const known = new Set(practised.map(({ text }) => normalizeDigits(text)));
  for (const { text, judge } of stepsTask.test) {
    assert.ok(!known.has(normalizeDigits(text)), text);
    assert.equal(judge(`1+1=2\n1+1=${asked(text)}`), 1, text);
    assert.equal(judge(`1+1=2\n1+1=${asked(text) + 1}`), 0, text);
  }
});

test("gives up to half the reward for correct first steps, and the full reward for a correct answer", () => {
  const problem: Problem = { text: "", steps: ["3*4=12", "12+5=17"], answer: 17 };
  const cases: readonly (readonly [string, number])[] = [
    ["3*4=12\n12+5=17", 1],
    ["17=17", 1],
    ["3*4=12\n12+5=17\n17+1=18", 0.5],
    ["3*4=12\n12+5=18", 0.25],
    ["3*4=13\n13+5=18", 0],
    ["17", 0],
    ["", 0],
  ];
  for (const [answer, reward] of cases) assert.equal(rewardOf(problem, answer), reward, answer);
});
