// Small word problems that have to be worked out in steps, each written down before the answer. A few written conversations
// teach the form of an answer; the rest is practice, in which every step that is right earns a part.
import { seededRandom, type Random } from "../../../domain/random.ts";
import type { DemoTask, Lesson, Question } from "./task.ts";

/** What a problem tells. The two halves share nothing but the operations. */
interface Wording {
  readonly names: readonly string[];
  readonly things: readonly string[];
  readonly gains: readonly string[];
  readonly losses: readonly string[];
}

const practised: Wording = {
  names: ["Anna", "Ben", "Clara", "David", "Ella", "Frank", "Grace", "Henry"],
  things: ["marbles", "stamps", "coins", "cards", "shells", "pencils", "apples", "buttons"],
  gains: ["{name} buys {count} more.", "{name} finds {count} more.", "A friend brings {count} more."],
  losses: ["{name} gives away {count}.", "{name} loses {count}.", "{name} sells {count}."],
};

const tested: Wording = {
  names: ["Maria", "Oscar", "Ruth", "Simon"],
  things: ["books", "stickers", "flowers", "balloons"],
  gains: ["{name} gets {count} more as a present.", "{name} picks up another {count}."],
  losses: ["{count} of them break.", "{name} hands {count} to a neighbour."],
};

const sizes = { lessons: 96, practised: 8, tested: 32 } as const;

export const stepsTask: DemoTask = {
  name: "steps",
  aim: "work out word problems in steps",
  testedOn: "held-out",
  lessons: {
    draw: (random) => Array.from({ length: sizes.lessons }, () => lessonOf(drawProblem(random, practised))),
    learningRate: 1e-3,
    batchSize: 4,
  },
  practice: (random) =>
    Array.from({ length: sizes.practised }, () => {
      const problem = drawProblem(random, practised);
      return questionOf(problem, (answer) => rewardOf(problem, answer));
    }),
  test: testQuestions(),
  sampling: { groupSize: 8, temperature: 1, answerTokensMax: 32 },
  training: { learningRate: 2e-4, batchSize: 8 },
  targets: { sampledReward: 0.97, testReward: 0.97 },
  curve: { of: "testReward", title: "right answers to held-out problems", from: 0 },
  shownCount: 4,
};

/** A problem with the way to its answer. */
export interface Problem {
  readonly text: string;
  /** Such as `7+5=12`. */
  readonly steps: readonly string[];
  readonly answer: number;
}

/** Two or three steps over whole numbers that never fall below 1. */
export function drawProblem(random: Random, { names, things, gains, losses }: Wording): Problem {
  const pick = (list: readonly string[]): string => list[random.index(list.length)];
  const [name, thing] = [pick(names), pick(things)];
  let left = 3 + random.index(10);
  const told = [`${name} has ${left} ${thing}.`];
  const steps: string[] = [];
  const stepCount = 2 + random.index(2);
  while (steps.length < stepCount) {
    const isLoss = left > 2 && random.index(2) === 0;
    const count = 1 + random.index(isLoss ? Math.min(9, left - 1) : 9);
    const result = isLoss ? left - count : left + count;
    steps.push(`${left}${isLoss ? "-" : "+"}${count}=${result}`);
    told.push(
      pick(isLoss ? losses : gains)
        .replace("{name}", name)
        .replace("{count}", String(count)),
    );
    left = result;
  }
  return { text: `${told.join(" ")} How many ${thing} does ${name} have now?`, steps, answer: left };
}

/** The reward of an answer: 1 where its last line is right, else up to a half for its first steps that are. */
export function rewardOf(problem: Problem, answer: string): number {
  if (isRight(problem, answer)) return 1;
  const lines = answer.trim().split("\n");
  const wrong = problem.steps.findIndex((step, index) => lines[index]?.trim() !== step);
  return (0.5 * (wrong < 0 ? problem.steps.length : wrong)) / problem.steps.length;
}

function isRight(problem: Problem, answer: string): boolean {
  return answer.trim().split("\n").at(-1) === lastLine(problem);
}

function lastLine({ answer }: Problem): string {
  return `Answer: ${answer}`;
}

function lessonOf(problem: Problem): Lesson {
  const content = [...problem.steps, lastLine(problem)].join("\n");
  return { messages: [...messagesOf(problem), { role: "assistant", content }] };
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

/** Different problems, the same for everybody; an answer to one is right or wrong. */
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
