// Exercises that ask for a few different members of a category, in any order.
import type { Random } from "../../../../src/base/domain/random.ts";
import { type Exercise, fill, type Kind, pick, typedFreely } from "./exercise.ts";

const categories: Readonly<Record<string, readonly string[]>> = {
  fruits: ["apple", "pear", "plum", "banana", "lemon", "cherry"],
  colors: ["red", "blue", "green", "yellow", "black", "white"],
  animals: ["cat", "dog", "cow", "horse", "lion", "bear"],
  birds: ["duck", "owl", "swan", "crow", "eagle", "hen"],
  vegetables: ["carrot", "onion", "potato", "bean", "corn", "pea"],
  days: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sunday"],
  months: ["January", "March", "April", "May", "June", "July"],
  cities: ["Paris", "London", "Rome", "Tokyo", "Berlin", "Madrid"],
  drinks: ["tea", "coffee", "milk", "water", "juice", "cocoa"],
  tools: ["hammer", "saw", "drill", "knife", "rope", "nail"],
  trees: ["oak", "pine", "maple", "birch", "elm", "ash"],
  names: ["Tom", "Anna", "Ben", "Mia", "Sam", "Lucy"],
  shapes: ["circle", "square", "triangle", "star", "line", "cube"],
  numbers: ["1", "2", "3", "5", "7", "9"],
};

const counts = [
  ["two", 2],
  ["three", 3],
  ["four", 4],
  ["2", 2],
  ["3", 3],
  ["4", 4],
] as const;

const patterns = [
  "Name {count} {category}.",
  "List {count} {category}.",
  "Give me {count} {category}.",
  "Tell me {count} {category}.",
  "Write {count} {category}.",
  "I need {count} {category}.",
  "Can you name {count} {category}?",
  "What are {count} {category}?",
  "A list of {count} {category}.",
  "Make a list of {count} {category}.",
  "Show me {count} {category}.",
  "{count} {category}",
  "Think of {count} {category}.",
  "Say {count} {category}.",
] as const;

/** Exercises whose answer has the requested number of members, separated by commas. */
export const lists: Kind = {
  name: "lists",
  weight: 0.9,
  heldOut: "pairs of a category and a number",
  draw: (random: Random): Exercise => {
    const [category, members] = pick(random, Object.entries(categories));
    const [spelled, count] = pick(random, counts);
    const prompt = typedFreely(random, fill(pick(random, patterns), { count: spelled, category }));
    const answer = neighbors(random, members, count).join(", ");
    const accepts = (given: string): boolean => isListOf(given, members, count);
    return { kind: "lists", prompt, answer, accepts, contents: [`list ${category} ${count}`] };
  },
};

/**
 * Returns consecutive members of the table, starting at a random one. A small model would take long to learn to list
 * members in arbitrary order without repetitions.
 */
function neighbors(random: Random, members: readonly string[], count: number): readonly string[] {
  const start = random.index(members.length);
  return Array.from({ length: count }, (_, index) => members[(start + index) % members.length] ?? "");
}

function isListOf(text: string, members: readonly string[], count: number): boolean {
  const items = text.split(", ");
  return (
    items.length === count && new Set(items).size === count && items.every((item) => members.includes(item))
  );
}
