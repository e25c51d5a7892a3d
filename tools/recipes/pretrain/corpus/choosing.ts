// Exercises that ask for exactly one of the given words. The training answer is uniformly random, so that the model
// starts without a preference and reinforcement learning can change it.
import type { Random } from "../../../../src/base/domain/random.ts";
import {
  capitalized,
  chance,
  type Exercise,
  integer,
  type Kind,
  pick,
  pickSeveral,
  wordsOf,
} from "./exercise.ts";
import { drawWord, words } from "./words.ts";

const openings = [
  "respond with",
  "just respond with",
  "respond with exactly one of",
  "answer with",
  "answer with exactly one of",
  "answer with one of",
  "pick one of",
  "pick one",
  "choose one of",
  "choose one",
  "choose between",
  "choose",
  "say one of",
  "say",
  "just say",
  "reply with",
  "reply with one of",
  "reply with exactly one of",
  "reply only with",
  "pick exactly one of",
  "give me one of",
  "select one of",
  "select one",
  "pick a word",
  "pick one word",
  "choose a word from",
  "choose exactly one of",
  "say exactly one of",
  "tell me one of",
  "use one of",
  "which one",
  "decide",
  "answer only with",
  "respond only with one of",
  "respond with one of",
  "respond with one word",
  "take one of",
  "your answer must be one of",
  "output one of",
  "print one of",
  "write one of",
  "write exactly one of",
] as const;

const colors = ["red", "blue", "green", "yellow", "black", "white", "pink", "gray"];
const answers = ["yes", "no", "maybe"];
const groups: readonly (readonly string[])[] = [
  colors,
  colors,
  ["left", "right", "up", "down"],
  ["north", "south", "east", "west"],
  ["cat", "dog", "fish", "bird", "cow"],
  ["good", "bad", "fine"],
  ["hot", "cold", "warm"],
  ["true", "false"],
  ["on", "off"],
  ["tea", "coffee", "milk", "water"],
  ["sun", "moon", "star"],
  ["rock", "paper", "scissors"],
  ["heads", "tails"],
  ["stop", "go", "wait"],
  ["one", "two", "three", "four"],
  ["always", "never", "often", "sometimes"],
  ["big", "small"],
  ["fast", "slow"],
  ["happy", "sad", "calm"],
  ["a", "b", "c", "d"],
  ["spring", "summer", "autumn", "winter"],
  ["apple", "pear", "plum", "lemon"],
  ["agree", "disagree"],
  ["ok", "sure", "never"],
];

/**
 * The words to choose from. `drawn` contains those that are everyday words or random letter strings; the others come
 * from a fixed list.
 */
interface Options {
  readonly all: readonly string[];
  readonly drawn: readonly string[];
}

function drawOptions(random: Random): Options {
  const roll = random.uniform();
  if (roll < 0.34) return { all: pickSeveral(random, answers, integer(random, 2, 3)), drawn: [] };
  if (roll < 0.42) {
    const drawn = pickSeveral(random, words, 3);
    return { all: pickSeveral(random, [...answers, ...drawn], integer(random, 2, 4)), drawn };
  }
  if (roll < 0.66) {
    const group = pick(random, groups);
    return { all: pickSeveral(random, group, integer(random, 2, Math.min(4, group.length))), drawn: [] };
  }
  const options = new Set<string>();
  const count = integer(random, 2, 4);
  while (options.size < count) options.add(drawWord(random, 2, 6));
  return { all: [...options], drawn: [...options] };
}

function join(random: Random, options: readonly string[]): string {
  const quote = pick(random, ["", "", "'", "'", '"']);
  const quoted = options.map((option) => quote + option + quote);
  const last = quoted.at(-1) ?? "";
  const first = quoted.slice(0, -1).join(", ");
  if (options.length === 2) return `${first}${pick(random, [" or ", " or ", ", "])}${last}`;
  return `${first}${pick(random, [", ", ", ", " or ", ", or "])}${last}`;
}

function typeOpening(random: Random, opening: string): string {
  const roll = random.uniform();
  if (roll < 0.4) return capitalized(opening);
  return roll < 0.42 ? `please ${opening}` : opening;
}

/** Exercises whose answer is one of the given words and nothing else. */
export const choosing: Kind = {
  name: "choosing",
  weight: 1.5,
  heldOut: "words",
  draw: (random): Exercise => {
    const { all: options, drawn } = drawOptions(random);
    const separator = chance(random, 0.25) ? ": " : " ";
    const ending = pick(random, ["", "", "", ".", "?"]);
    return {
      kind: "choosing",
      prompt: `${typeOpening(random, pick(random, openings))}${separator}${join(random, options)}${ending}`,
      answer: pick(random, options),
      accepts: (answer) => options.includes(answer),
      contents: wordsOf(drawn.join(" ")),
    };
  },
};
