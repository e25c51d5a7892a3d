// Tools that calculate with two numbers: either one tool per operation, or a single tool that takes an expression.
import type { Random } from "../../../../../src/base/domain/random.ts";
import { chance, fill, integer, pick } from "../exercise.ts";
import { callOf, type Tool } from "./tool.ts";

interface Operation {
  readonly sign: string;
  readonly toolNames: readonly string[];
  readonly questions: readonly string[];
  readonly description: string;
  readonly solve: (a: number, b: number) => number;
  readonly drawNumbers: (random: Random) => readonly [number, number];
}

const operations = {
  add: {
    sign: "+",
    toolNames: ["add", "plus", "sum", "add_numbers", "calculate_sum"],
    questions: [
      "What is {a} + {b}?",
      "{a} + {b}",
      "Add {a} and {b}.",
      "What is {a} plus {b}?",
      "How much is {a} + {b}?",
      "Calculate {a} + {b}.",
    ],
    description: "Adds two numbers.",
    solve: (a, b) => a + b,
    drawNumbers: (random) => [integer(random, 1, 99), integer(random, 1, 99)],
  },
  subtract: {
    sign: "-",
    toolNames: ["subtract", "minus", "subtract_numbers", "difference"],
    questions: [
      "What is {a} - {b}?",
      "{a} - {b}",
      "Subtract {b} from {a}.",
      "What is {a} minus {b}?",
      "How much is {a} - {b}?",
      "Calculate {a} - {b}.",
    ],
    description: "Subtracts b from a.",
    solve: (a, b) => a - b,
    drawNumbers: (random) => {
      const b = integer(random, 1, 60);
      return [b + integer(random, 0, 39), b];
    },
  },
  multiply: {
    sign: "*",
    toolNames: ["multiply", "times", "product", "multiply_numbers"],
    questions: [
      "What is {a} * {b}?",
      "{a} * {b}",
      "Multiply {a} by {b}.",
      "What is {a} times {b}?",
      "How much is {a} times {b}?",
      "Calculate {a} * {b}.",
    ],
    description: "Multiplies two numbers.",
    solve: (a, b) => a * b,
    drawNumbers: (random) => [integer(random, 2, 30), integer(random, 2, 30)],
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;
export const operationNames = Object.keys(operations) as readonly OperationName[];

const parameterNames = [
  ["a", "b"],
  ["a", "b"],
  ["x", "y"],
  ["first", "second"],
  ["left", "right"],
] as const;
const expressionTools = ["calculate", "calculator", "compute", "math"] as const;
const expressionNames = ["expression", "text", "formula"] as const;

/** Tools for some operations, and a function that writes calls of them. */
export interface Calculator {
  readonly tools: readonly Tool[];
  call(operation: OperationName, a: number, b: number): string;
}

/** Draws either one tool per needed operation or a single tool for all of them. */
export function drawCalculator(random: Random, needed: readonly OperationName[]): Calculator {
  if (chance(random, 0.3)) {
    const tool: Tool = {
      name: pick(random, expressionTools),
      parameters: [{ name: pick(random, expressionNames), type: "string" }],
      description: chance(random, 0.15) ? "Calculates." : null,
    };
    return { tools: [tool], call: (name, a, b) => callOf(tool, `${a} ${operations[name].sign} ${b}`) };
  }
  const [left, right] = pick(random, parameterNames);
  const tools = new Map(
    needed.map((name): [OperationName, Tool] => [
      name,
      {
        name: pick(random, operations[name].toolNames),
        parameters: [
          { name: left, type: "number" },
          { name: right, type: "number" },
        ],
        description: chance(random, 0.15) ? operations[name].description : null,
      },
    ]),
  );
  return {
    tools: [...tools.values()],
    call: (name, a, b) => {
      const tool = tools.get(name);
      if (tool === undefined) throw new Error(`the calculator was drawn without ${name}`);
      return callOf(tool, a, b);
    },
  };
}

export function solve(operation: OperationName, a: number, b: number): number {
  return operations[operation].solve(a, b);
}

/** Draws a question that asks only for a calculation. */
export function drawCalculation(
  random: Random,
  operation: OperationName,
): { readonly question: string; readonly a: number; readonly b: number } {
  const { drawNumbers, questions } = operations[operation];
  const [a, b] = drawNumbers(random);
  return { question: fill(pick(random, questions), { a, b }), a, b };
}
