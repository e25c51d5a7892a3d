// The environment: a market that sells a few goods, and tools that look up prices and stocks and calculate. It does
// not depend on models or questions.
import { shuffled, type Random } from "../../src/base/domain/random.ts";
import type { Tool, ToolCall } from "../../src/apps/client/api.ts";

/** Price and stock of each good, by its name. */
export type Market = ReadonlyMap<string, { readonly price: number; readonly stock: number }>;

const goods =
  `apple banana bean book bowl bread cake candle carrot cheese corn cup egg fig grape hat honey jam jar kettle lamp
  lemon mango milk nut olive onion orange peach pear pen pepper pie plum rice ring rope salt scarf spoon sugar tea toy`.split(
    /\s+/,
  );

/** Returns a market with prices and stocks drawn from the seed, so that a model must look them up. */
export function openMarket(random: Random, goodCount = 24): Market {
  return new Map(
    shuffled(random, goods)
      .slice(0, goodCount)
      .map((name) => [name, { price: 2 + random.index(8), stock: 10 + random.index(80) }]),
  );
}

const item = { type: "object", properties: { item: { type: "string" } }, required: ["item"] };
const numbers = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};

/** Tools that the agent may call. */
export const tools: readonly Tool[] = [
  { type: "function", function: { name: "price", parameters: item } },
  { type: "function", function: { name: "stock", parameters: item } },
  { type: "function", function: { name: "times", parameters: numbers } },
  { type: "function", function: { name: "plus", parameters: numbers } },
  { type: "function", function: { name: "minus", parameters: numbers } },
];

const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  times: (a, b) => a * b,
  plus: (a, b) => a + b,
  minus: (a, b) => a - b,
};

/** Returns a tool's result for a call: a number, or an error text. Never throws, even for a malformed call. */
export function answerCall(market: Market, called: NonNullable<ToolCall["function"]>): string {
  const given = parsedArguments(called.arguments);
  if (given === null) return "error: the arguments are no object";
  const operation = Object.hasOwn(operations, called.name) ? operations[called.name] : undefined;
  if (operation !== undefined) return calculate(operation, given);
  if (called.name !== "price" && called.name !== "stock") return "error: no such tool";
  const found = market.get(String(given["item"]));
  return found === undefined ? "not found" : String(found[called.name]);
}

function calculate(
  operation: (a: number, b: number) => number,
  { a, b }: Readonly<Record<string, unknown>>,
): string {
  if (typeof a !== "number" || typeof b !== "number") return "error: a and b must be numbers";
  return String(operation(a, b));
}

/** Returns the arguments of a call, or null if they are not a JSON object. */
export function parsedArguments(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    // Safe cast: an object in JSON has only text keys.
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}
