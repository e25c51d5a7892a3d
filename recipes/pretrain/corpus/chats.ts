// Exercises put together to chats: an optional system prompt and one or several independent questions with answers.
import type { Random } from "../../../src/domain/random.ts";
import { present } from "../../../src/domain/assert.ts";
import { choosing } from "./choosing.ts";
import { copying } from "./copying.ts";
import { chance, type Exercise, type Kind, pick } from "./exercise.ts";
import { factual } from "./facts.ts";
import { greetings } from "./greetings.ts";
import { isHeldOut } from "./held-out.ts";
import { json } from "./json.ts";
import { reversing, spelling } from "./letters.ts";
import { lists } from "./lists.ts";
import { comparing, sums } from "./numbers.ts";
import { other } from "./other.ts";
import { stories } from "./stories.ts";

/** Every kind of exercise there is, in the order of reports. */
export const kinds: readonly Kind[] = [
  greetings,
  choosing,
  copying,
  reversing,
  spelling,
  sums,
  comparing,
  factual,
  lists,
  json,
  stories,
  other,
];

/** Which part of all exercises to draw from. */
export type Split = "training" | "held-out";

export interface Chat {
  readonly system: string | null;
  readonly turns: readonly Exercise[];
}

const systems = [
  "You are a helpful assistant.",
  "You are a helpful assistant.",
  "You are Hone, a very small language model.",
  "Answer briefly.",
  "Be brief.",
  "You are a friendly assistant. Answer in few words.",
  "Answer the question.",
  "You answer short questions.",
  "Follow the instructions exactly.",
] as const;

/** The next exercise of a kind that lies in the wanted part. */
export function drawExercise(random: Random, kind: Kind, split: Split): Exercise {
  for (;;) {
    const exercise = kind.draw(random);
    if (isHeldOut(exercise) === (split === "held-out")) return exercise;
  }
}

/** Draws a kind by weight; `factors` multiplies the weights of the kinds it names. */
export function drawKind(random: Random, factors: ReadonlyMap<string, number> = new Map()): Kind {
  const weights = kinds.map((kind) => kind.weight * (factors.get(kind.name) ?? 1));
  let rest = random.uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => (rest -= weight) < 0);
  return present(kinds.at(index), "a kind");
}

/** A system prompt, or none in half of the cases. */
export function drawSystem(random: Random): string | null {
  return chance(random, 0.5) ? null : pick(random, systems);
}

/** A chat to train on: never a held-out exercise in it. */
export function drawChat(random: Random, factors?: ReadonlyMap<string, number>): Chat {
  const turns: Exercise[] = [];
  do turns.push(drawExercise(random, drawKind(random, factors), "training"));
  while (turns.length < 4 && chance(random, 0.4));
  return { system: drawSystem(random), turns };
}
