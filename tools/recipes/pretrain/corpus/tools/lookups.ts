// Tools that look up one property of a thing or a person, such as a price, and questions that ask for that property.
import type { Random } from "../../../../../src/base/domain/random.ts";
import { chance, fill, integer, pick } from "../exercise.ts";
import { drawWord, names, words } from "../words.ts";
import type { Tool } from "./tool.ts";

interface Property {
  readonly noun: string;
  /** Questions that ask for the property without naming it. */
  readonly questions: readonly string[];
  readonly values: "numbers" | "words" | "names";
}

const properties: readonly Property[] = [
  {
    noun: "price",
    questions: ["How much is {x}?", "What does {x} cost?", "How much does {x} cost?"],
    values: "numbers",
  },
  { noun: "weight", questions: ["How heavy is {x}?", "What does {x} weigh?"], values: "numbers" },
  { noun: "age", questions: ["How old is {x}?"], values: "numbers" },
  { noun: "height", questions: ["How tall is {x}?", "How high is {x}?"], values: "numbers" },
  { noun: "stock", questions: ["How many of {x} are left?", "How much of {x} is there?"], values: "numbers" },
  { noun: "size", questions: ["How big is {x}?"], values: "numbers" },
  { noun: "score", questions: [], values: "numbers" },
  { noun: "speed", questions: ["How fast is {x}?"], values: "numbers" },
  { noun: "number", questions: [], values: "numbers" },
  { noun: "distance", questions: ["How far is {x}?"], values: "numbers" },
  { noun: "owner", questions: ["Who owns {x}?", "Whose is {x}?"], values: "names" },
  { noun: "friend", questions: [], values: "names" },
  { noun: "maker", questions: ["Who made {x}?"], values: "names" },
  { noun: "teacher", questions: ["Who teaches {x}?"], values: "names" },
  { noun: "color", questions: ["What color is {x}?"], values: "words" },
  { noun: "city", questions: ["Where does {x} live?"], values: "words" },
  { noun: "place", questions: ["Where is {x}?"], values: "words" },
  { noun: "pet", questions: [], values: "words" },
  { noun: "food", questions: ["What does {x} eat?"], values: "words" },
  { noun: "title", questions: [], values: "words" },
];

const wordings = [
  "What is the {noun} of {x}?",
  "What is {x}'s {noun}?",
  "Tell me the {noun} of {x}.",
  "Find the {noun} of {x}.",
  "Look up the {noun} of {x}.",
  "Give me the {noun} of {x}.",
  "I need the {noun} of {x}.",
  "Do you know the {noun} of {x}?",
  "Which {noun} does {x} have?",
  "What {noun} has {x}?",
  "{noun} of {x}?",
  "The {noun} of {x}, please.",
] as const;

const toolNames = [
  "{noun}",
  "{noun}",
  "get_{noun}",
  "find_{noun}",
  "{noun}_of",
  "read_{noun}",
  "lookup_{noun}",
] as const;
const parameterNames = ["item", "name", "thing", "key", "of", "id", "word", "what"] as const;

/** A property, and the tool that looks it up. */
export interface Lookup {
  readonly noun: string;
  readonly tool: Tool;
  drawValue(random: Random): string | number;
  drawQuestion(random: Random, subject: string): string;
}

export function drawLookup(random: Random, values?: Property["values"]): Lookup {
  const property = pick(
    random,
    properties.filter((one) => values === undefined || one.values === values),
  );
  const { noun, questions } = property;
  return {
    noun,
    tool: {
      name: fill(pick(random, toolNames), { noun }),
      parameters: [{ name: pick(random, parameterNames), type: "string" }],
      description: chance(random, 0.15) ? `Finds the ${noun}.` : null,
    },
    drawValue: (source) => {
      if (property.values === "numbers") return integer(source, 1, 99);
      return property.values === "names" ? pick(source, names) : pick(source, words);
    },
    drawQuestion: (source, subject) => {
      const isNamed = questions.length === 0 || chance(source, 0.6);
      return fill(pick(source, isNamed ? wordings : questions), { noun, x: subject });
    },
  };
}

/** Draws the subject of a question: a word, a name or a random letter string. */
export function drawSubject(random: Random): string {
  const roll = random.uniform();
  if (roll < 0.5) return pick(random, words);
  return roll < 0.75 ? pick(random, names) : drawWord(random, 3, 6);
}
