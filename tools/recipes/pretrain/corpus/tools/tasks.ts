// Questions that need tools: one call, or several calls in which a later call uses the result of an earlier one.
import { present } from "../../../../../src/base/domain/assert.ts";
import { shuffled, type Random } from "../../../../../src/base/domain/random.ts";
import { chance, type Exercise, fill, integer, pairOf, pick, typed, wordsOf } from "../exercise.ts";
import { drawCalculation, drawCalculator, operationNames, solve } from "./calculators.ts";
import { drawLookup, drawSubject, type Lookup } from "./lookups.ts";
import { callOf, type Tool } from "./tool.ts";

/** A turn of a chat: the user's question or a tool's result, and the model's answer to it. */
export interface Turn extends Exercise {
  readonly role: "user" | "tool";
}

export interface ToolTask {
  /** Tools shown to the model: those that the question needs and a few unrelated ones. */
  readonly tools: readonly Tool[];
  readonly turns: readonly Turn[];
}

/**
 * Kinds of turns: a question that needs a call, a tool result after which another call is needed, and a tool result
 * that allows the final answer.
 */
export const turnKinds = ["calling", "chaining", "results"] as const;

/** A question, and the tool calls (with their results) that lead to its answer. */
interface Solution {
  readonly question: string;
  readonly steps: readonly { readonly call: string; readonly result: string }[];
  readonly answer: string;
  readonly tools: readonly Tool[];
  readonly contents: readonly string[];
}

const missing = ["not found", "error: not found", "unknown", "none"] as const;

function withArticle(random: Random, subject: string): string {
  return /^[a-z]/.test(subject) && chance(random, 0.4) ? `the ${subject}` : subject;
}

function find(lookup: Lookup, subject: string, value: string | number) {
  return { call: callOf(lookup.tool, subject), result: String(value) };
}

/** Draws a question about one property of one thing; sometimes the lookup finds nothing. */
function lookUp(random: Random): Solution {
  const lookup = drawLookup(random);
  const subject = drawSubject(random);
  const isFound = chance(random, 0.88);
  const value = isFound ? String(lookup.drawValue(random)) : pick(random, missing);
  return {
    question: lookup.drawQuestion(random, withArticle(random, subject)),
    steps: [find(lookup, subject, value)],
    answer: isFound ? value : `I cannot find ${subject}.`,
    tools: [lookup.tool],
    contents: wordsOf(`${subject} ${value}`),
  };
}

/** Draws a question for a calculation. */
function calculate(random: Random): Solution {
  const operation = pick(random, operationNames);
  const { question, a, b } = drawCalculation(random, operation);
  const calculator = drawCalculator(random, chance(random, 0.5) ? [operation] : operationNames);
  const result = String(solve(operation, a, b));
  return {
    question,
    steps: [{ call: calculator.call(operation, a, b), result }],
    answer: result,
    tools: calculator.tools,
    contents: [pairOf("calculation", a, b)],
  };
}

const manyQuestions = [
  "What do {n} of {x} cost?",
  "How much are {n} {x}?",
  "How much do {n} {x} cost?",
  "What is the price of {n} {x}?",
  "I want {n} {x}. What do I pay?",
] as const;

/** Draws a question about the cost of several identical things: the price times the number. */
function priceOfMany(random: Random): Solution {
  const lookup = drawPriceLookup(random);
  const calculator = drawCalculator(random, ["multiply"]);
  const subject = drawSubject(random);
  const [count, price] = [integer(random, 2, 12), integer(random, 1, 30)];
  const result = String(count * price);
  return {
    question: fill(pick(random, manyQuestions), { n: count, x: subject }),
    steps: [find(lookup, subject, price), { call: calculator.call("multiply", count, price), result }],
    answer: result,
    tools: [lookup.tool, ...calculator.tools],
    contents: [...wordsOf(subject), pairOf("calculation", count, price)],
  };
}

function drawPriceLookup(random: Random): Lookup {
  for (;;) {
    const lookup = drawLookup(random, "numbers");
    if (lookup.noun === "price") return lookup;
  }
}

const togetherQuestions = [
  "What is the {noun} of {x} and {y} together?",
  "What is the {noun} of {x} and {y} in all?",
  "Add the {noun} of {x} and of {y}.",
  "Sum the {noun} of {x} and {y}.",
] as const;

/** Draws a question about a property of two things, such as a price; the answer is the sum of both values. */
function together(random: Random): Solution {
  const lookup = drawLookup(random, "numbers");
  const calculator = drawCalculator(random, ["add"]);
  const [x, y] = [drawSubject(random), drawSubject(random)];
  const [a, b] = [integer(random, 1, 60), integer(random, 1, 39)];
  const result = String(a + b);
  return {
    question: fill(pick(random, togetherQuestions), { noun: lookup.noun, x, y }),
    steps: [find(lookup, x, a), find(lookup, y, b), { call: calculator.call("add", a, b), result }],
    answer: result,
    tools: [lookup.tool, ...calculator.tools],
    contents: [...wordsOf(`${x} ${y}`), pairOf("calculation", a, b)],
  };
}

const moreQuestions = [
  "Which has the larger {noun}, {x} or {y}?",
  "Which has more {noun}, {x} or {y}?",
  "Whose {noun} is larger, {x} or {y}?",
] as const;

/** Draws a question that asks which of two things has the higher value of a property, such as a price. */
function compare(random: Random): Solution {
  const lookup = drawLookup(random, "numbers");
  const [x, y] = [drawSubject(random), drawSubject(random)];
  const a = integer(random, 1, 50);
  let b = a;
  while (b === a) b = integer(random, 1, 50);
  return {
    question: fill(pick(random, moreQuestions), { noun: lookup.noun, x, y }),
    steps: [find(lookup, x, a), find(lookup, y, b)],
    answer: a > b ? x : y,
    tools: [lookup.tool],
    contents: [...wordsOf(`${x} ${y}`), pairOf("compare", a, b)],
  };
}

const deepQuestions = [
  "What is the {noun} of the {person} of {x}?",
  "Tell me the {noun} of the {person} of {x}.",
  "Find the {noun} of the {person} of {x}.",
  "What is the {noun} of {x}'s {person}?",
] as const;

/** Draws a question about a property of a person. One tool call finds the person, and a second one the property. */
function throughPerson(random: Random): Solution {
  const person = drawLookup(random, "names");
  const lookup = drawLookup(random, pick(random, ["numbers", "words"] as const));
  const subject = drawSubject(random);
  const name = String(person.drawValue(random));
  const value = String(lookup.drawValue(random));
  return {
    question: fill(pick(random, deepQuestions), { noun: lookup.noun, person: person.noun, x: subject }),
    steps: [find(person, subject, name), find(lookup, name, value)],
    answer: value,
    tools: [person.tool, lookup.tool],
    contents: wordsOf(`${subject} ${name} ${value}`),
  };
}

const tasks: readonly (readonly [weight: number, draw: (random: Random) => Solution])[] = [
  [0.3, lookUp],
  [0.2, calculate],
  [0.15, priceOfMany],
  [0.12, together],
  [0.11, compare],
  [0.12, throughPerson],
];

function drawSolution(random: Random): Solution {
  let rest = random.uniform();
  const [, draw] = present(tasks.find(([weight]) => (rest -= weight) < 0) ?? tasks[0], "a task");
  return draw(random);
}

/** Draws a question that needs tools, with all turns up to the final answer. */
export function drawToolTask(random: Random): ToolTask {
  const solution = drawSolution(random);
  const tools = shuffled(random, [...solution.tools, ...drawOtherTools(random, solution)]);
  const contents = [...solution.contents, ...tools.map(({ name }) => `tool ${name}`)];
  return { tools, turns: turnsOf(random, solution, contents) };
}

/** Draws up to two tools that the question does not need. */
function drawOtherTools(random: Random, { tools, question }: Solution): readonly Tool[] {
  const others = Array.from({ length: random.index(3) }, () =>
    chance(random, 0.8) ? drawLookup(random) : null,
  ).flatMap((lookup) => (lookup === null ? drawCalculator(random, ["subtract"]).tools : [lookup.tool]));
  const isNew = (tool: Tool, index: number): boolean =>
    ![...tools, ...others.slice(0, index)].some(({ name }) => rootOf(name) === rootOf(tool.name)) &&
    !question.includes(rootOf(tool.name));
  return others.filter(isNew);
}

/**
 * Returns `price` for both `get_price` and `price_of`. A task must not offer two tools with the same root, since the
 * question would not determine which one to call.
 */
function rootOf(name: string): string {
  return name.replace(/^(get|find|read|lookup)_|_of$/g, "");
}

function turnsOf(
  random: Random,
  { question, steps, answer }: Solution,
  contents: readonly string[],
): readonly Turn[] {
  const prompts = [typed(random, question), ...steps.map(({ result }) => result)];
  return prompts.map((prompt, index) => {
    const isLast = index === steps.length;
    const said = isLast ? answer : present(steps[index], "a step").call;
    return {
      kind: turnKinds[isLast ? 2 : Math.min(index, 1)],
      role: index === 0 ? "user" : "tool",
      prompt,
      answer: said,
      accepts: (given) => given === said,
      contents,
    };
  });
}
