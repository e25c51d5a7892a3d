// Chats assembled from exercises. After an optional system prompt, a chat has either independent questions and answers,
// or tools and questions that the model answers with their help.
import { present } from "../../../../src/base/domain/assert.ts";
import type { Random } from "../../../../src/base/domain/random.ts";
import { choosing } from "./choosing.ts";
import { copying } from "./copying.ts";
import { chance, type Exercise, type Kind, pick } from "./exercise.ts";
import { factual } from "./facts.ts";
import { greetings } from "./greetings.ts";
import { type Split, splitOf } from "./held-out.ts";
import { json } from "./json.ts";
import { reversing, spelling } from "./letters.ts";
import { lists } from "./lists.ts";
import { comparing, sums } from "./numbers.ts";
import { other } from "./other.ts";
import { stories } from "./stories.ts";
import { drawToolTask, type ToolTask, type Turn } from "./tools/tasks.ts";
import { signatureOf, type Tool } from "./tools/tool.ts";

/** All kinds of exercises that consist of one question and its answer, in the order used in reports. */
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

export interface Chat {
  readonly system: string | null;
  readonly tools: readonly Tool[];
  readonly turns: readonly Turn[];
}

/** Factors that multiply the weights of the kinds, and the share of chats with tools. */
export interface Mixture {
  readonly factors: ReadonlyMap<string, number>;
  readonly toolChats: number;
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

/** Kinds that may occur in a chat with tools. Their answers stay right when tools are available. */
const kindsBesideTools: readonly Kind[] = [greetings, copying, spelling, reversing, json, choosing];

/** Draws the next exercise of a kind in the given split. Never returns if the split has no exercises of that kind. */
export function drawExercise(random: Random, kind: Kind, split: Split): Exercise {
  for (;;) {
    const exercise = kind.draw(random);
    if (splitOf(exercise) === split) return exercise;
  }
}

/** Draws the next tool task in the given split. */
export function drawTask(random: Random, split: Split): ToolTask {
  for (;;) {
    const task = drawToolTask(random);
    if (splitOf(present(task.turns[0], "a question")) === split) return task;
  }
}

/** Draws a kind according to the weights; `factors` multiplies the weights of the kinds it names. */
function drawKind(random: Random, factors: ReadonlyMap<string, number>): Kind {
  const weights = kinds.map((kind) => kind.weight * (factors.get(kind.name) ?? 1));
  let rest = random.uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => (rest -= weight) < 0);
  return present(kinds.at(index), "a kind");
}

/** Returns a random system prompt, or null in half of all cases. */
export function drawSystem(random: Random): string | null {
  return chance(random, 0.5) ? null : pick(random, systems);
}

/** Returns a user turn with the exercise's question and answer. */
export function asked(exercise: Exercise): Turn {
  return { ...exercise, role: "user" };
}

/**
 * Returns the text of the system turn: the system prompt, followed by the tools as the chat template renders them.
 * Null for a chat that has neither.
 */
export function systemTextOf({ system, tools }: Pick<Chat, "system" | "tools">): string | null {
  if (tools.length === 0) return system;
  const shown = `<tools>\n${tools.map((tool) => `${signatureOf(tool)}\n`).join("")}</tools>`;
  return system === null ? shown : `${system}\n\n${shown}`;
}

/** Draws a training chat, which never contains a held-out exercise. */
export function drawChat(random: Random, { factors, toolChats }: Mixture): Chat {
  if (chance(random, toolChats)) return drawToolChat(random);
  const turns: Turn[] = [];
  do turns.push(asked(drawExercise(random, drawKind(random, factors), "training")));
  while (turns.length < 4 && chance(random, 0.4));
  return { system: drawSystem(random), tools: [], turns };
}

/** Draws a chat with a tool task, sometimes before or after a question that needs no tool. */
function drawToolChat(random: Random): Chat {
  const { tools, turns } = drawTask(random, "training");
  const ordinary = (probability: number): readonly Turn[] =>
    chance(random, probability)
      ? [asked(drawExercise(random, pick(random, kindsBesideTools), "training"))]
      : [];
  return { system: drawSystem(random), tools, turns: [...ordinary(0.15), ...turns, ...ordinary(0.1)] };
}
