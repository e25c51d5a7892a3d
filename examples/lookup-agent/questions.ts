// Questions about a market, each with a plan: the tool calls that lead to its answer.
import { present } from "../../src/base/domain/assert.ts";
import type { Random } from "../../src/base/domain/random.ts";
import type { Market } from "./market.ts";

/** A tool call of a plan, with the result that the tool will give. */
export interface Step {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string | number>>;
  readonly result: number;
}

export interface Question {
  readonly text: string;
  /** The shortest sequence of calls that leads to the answer. */
  readonly plan: readonly Step[];
  readonly answer: string;
}

/** A good, the number of pieces that a question is about, and the calls that questions about them may need. */
interface Lot {
  readonly name: string;
  readonly count: number;
  readonly price: Step;
  readonly stock: Step;
  /** Call that computes the price of all pieces. */
  readonly several: Step;
}

/** Kinds of questions, from those with one call to those with five. Each kind receives two lots of different goods. */
const rules = {
  price: (_random, { name, price }) => question(`How much is one ${name}?`, price),
  stock: (_random, { name, stock }) => question(`How many of ${name} are left?`, stock),
  several: (_random, { name, count, price, several }) =>
    question(`How much are ${count} of ${name}?`, price, several),
  change: (random, { name, count, price, several: { result: cost }, several }) => {
    const paid = cost + 1 + random.index(20);
    const change = step("minus", { a: paid, b: cost }, paid - cost);
    return question(`I pay ${paid} for ${count} of ${name}. What do I get back?`, price, several, change);
  },
  left: (random, { name, stock }) => {
    const sold = 1 + random.index(9);
    const left = step("minus", { a: stock.result, b: sold }, stock.result - sold);
    return question(`I take ${sold} of ${name}. How many are left then?`, stock, left);
  },
  basket: (_random, one, other) => {
    const [a, b] = [one.several.result, other.several.result];
    const total = step("plus", { a, b }, a + b);
    const text = `How much are ${one.count} of ${one.name} and ${other.count} of ${other.name}?`;
    return question(text, one.price, one.several, other.price, other.several, total);
  },
} as const satisfies Readonly<Record<string, (random: Random, one: Lot, other: Lot) => Question>>;

export type Sort = keyof typeof rules;
// Safe cast: the keys of `rules`.
export const sorts = Object.keys(rules) as readonly Sort[];

/** Draws a random question of a kind. */
export function drawQuestion(random: Random, market: Market, sort: Sort): Question {
  const names = [...market.keys()];
  const first = random.index(names.length);
  const second = (first + 1 + random.index(names.length - 1)) % names.length;
  const [one, other] = [first, second].map((index) => drawLot(random, market, names[index]));
  return rules[sort](random, one, other);
}

function drawLot(random: Random, market: Market, name: string): Lot {
  const { price, stock } = present(market.get(name), name);
  const count = 2 + random.index(5);
  return {
    name,
    count,
    price: step("price", { item: name }, price),
    stock: step("stock", { item: name }, stock),
    several: step("times", { a: count, b: price }, count * price),
  };
}

/** Returns as many questions as requested, taking the kinds in turn. None has a text in `except`. */
export function drawQuestions(
  random: Random,
  market: Market,
  { count, except = new Set() }: { readonly count: number; readonly except?: ReadonlySet<string> },
): readonly Question[] {
  return Array.from({ length: count }, (_, index) => {
    for (;;) {
      const drawn = drawQuestion(random, market, sorts[index % sorts.length]);
      if (!except.has(drawn.text)) return drawn;
    }
  });
}

function step(tool: string, values: Step["arguments"], result: number): Step {
  return { tool, arguments: values, result };
}

function question(text: string, ...plan: readonly [Step, ...Step[]]): Question {
  return { text, plan, answer: String(plan.at(-1)?.result) };
}
