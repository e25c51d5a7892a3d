// Small word problems with two steps: a product, and a sum that uses the product. A supervised job on a few written
// solutions teaches the form of an answer. The RL jobs then also give a partial reward for a correct first step.
import { seededRandom, type Random } from "../../../../base/domain/random.ts";
import type { DemoTask, Lesson, Question } from "./task.ts";

/**
 * Names, things and story templates of problems. Practice and test use different ones; only the operations and the
 * range of numbers are the same.
 */
interface Wording {
  readonly names: readonly string[];
  readonly things: readonly string[];
  /** Story templates. Each contains the placeholders `{groups}`, `{each}` and `{more}`, in this order. */
  readonly stories: readonly string[];
}

const practised: Wording = {
  names: ["Anna", "Ben", "Clara", "David", "Ella", "Frank", "Grace", "Henry"],
  things: ["marbles", "stamps", "coins", "cards", "shells", "pencils", "apples", "buttons"],
  stories: [
    "{name} has {groups} boxes with {each} {things} in each and {more} more {things}. How many {things} does {name} have?",
    "{name} buys {groups} bags of {each} {things} and finds {more} more. How many {things} does {name} have?",
    "There are {groups} shelves with {each} {things} each and {more} {things} on the floor. How many {things} are there?",
    "{groups} friends bring {name} {each} {things} each, and an aunt brings {more}. How many {things} does {name} get?",
  ],
};

const tested: Wording = {
  names: ["Maria", "Oscar", "Ruth", "Simon"],
  things: ["books", "stickers", "flowers", "balloons"],
  stories: [
    "{name} fills {groups} baskets with {each} {things} each and has {more} left over. How many {things} does {name} have?",
    "{groups} rows of {each} {things} stand in a shop, and {more} {things} in its window. How many {things} are there?",
  ],
};

const sizes = { lessons: 64, practised: 16, tested: 32 } as const;

export const stepsTask: DemoTask = {
  name: "steps",
  aim: "work out word problems in steps",
  scoring:
    "1 for an answer with the right last line; otherwise 0.25 for each correct first step, at most 0.5",
  testedOn: "held-out",
  lessons: {
    draw: (random) => Array.from({ length: sizes.lessons }, () => lessonOf(drawProblem(random, practised))),
    learningRate: 5e-4,
    batchSize: 4,
  },
  practice: (random) =>
    Array.from({ length: sizes.practised }, () => {
      const problem = drawProblem(random, practised);
      return questionOf(problem, (answer) => rewardOf(problem, answer));
    }),
  test: testQuestions(),
  sampling: { groupSize: 8, temperature: 1, answerTokensMax: 18 },
  training: { learningRate: 1e-4, batchSize: 32, jobCountMax: 21 },
  targets: { sampledReward: 0.97, testReward: 0.97 },
  curve: { of: "testReward", title: "right answers to held-out problems", from: 0 },
  shownCount: 4,
};

/** A word problem with its solution. */
export interface Problem {
  readonly text: string;
  /** Equations such as `3*4=12`. */
  readonly steps: readonly string[];
  readonly answer: number;
}

/** Draws a problem `groups × each + more`: `groups` and `each` are 2 to 6, and `more` is 2 to 9. */
export function drawProblem(random: Random, { names, things, stories }: Wording): Problem {
  const pick = (list: readonly string[]): string => list[random.index(list.length)];
  const [groups, each, more] = [2 + random.index(5), 2 + random.index(5), 2 + random.index(8)];
  const told = { name: pick(names), things: pick(things), groups, each, more };
  const text = Object.entries(told).reduce(
    (story, [key, value]) => story.replaceAll(`{${key}}`, String(value)),
    pick(stories),
  );
  const product = groups * each;
  const answer = product + more;
  return { text, steps: [`${groups}*${each}=${product}`, `${product}+${more}=${answer}`], answer };
}

/** Returns the reward: 1 if the last line has the right result, otherwise up to 0.5 for correct first steps. */
export function rewardOf(problem: Problem, answer: string): number {
  if (isRight(problem, answer)) return 1;
  const lines = answer.trim().split("\n");
  const wrong = problem.steps.findIndex((step, index) => lines[index]?.trim() !== step);
  return (0.5 * (wrong < 0 ? problem.steps.length : wrong)) / problem.steps.length;
}

function isRight(problem: Problem, answer: string): boolean {
  const [, result] = answer.trim().split("\n").at(-1)?.split("=") ?? [];
  return result === String(problem.answer);
}

function lessonOf(problem: Problem): Lesson {
  return { messages: [...messagesOf(problem), { role: "assistant", content: problem.steps.join("\n") }] };
}

function questionOf(problem: Problem, judge: Question["judge"]): Question {
  return { messages: messagesOf(problem), text: problem.text, judge };
}

function messagesOf({ text }: Problem): Question["messages"] {
  return [
    { role: "system", content: "Work it out in steps." },
    { role: "user", content: text },
  ];
}

/** Returns distinct problems, the same in every run. A right answer earns the reward 1, any other answer 0. */
function testQuestions(): readonly Question[] {
  const random = seededRandom("tested steps");
  const problems = new Map<string, Problem>();
  while (problems.size < sizes.tested) {
    const problem = drawProblem(random, tested);
    problems.set(problem.text, problem);
  }
  return [...problems.values()].map((problem) =>
    questionOf(problem, (answer) => (isRight(problem, answer) ? 1 : 0)),
  );
}
