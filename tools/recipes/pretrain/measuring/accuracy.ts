// Measures how well a model answers held-out exercises of each kind, and how an untrained policy performs on the
// demo's task.
import {
  firstWord,
  prompts as demoPrompts,
  rewardOf,
  words,
} from "../../../../src/apps/cli/demo/tasks/word-task.ts";
import { present } from "../../../../src/base/domain/assert.ts";
import { seededRandom, type Random } from "../../../../src/base/domain/random.ts";
import type { Tokenizer } from "../../../../src/lib/tokenizer/tokenizer.ts";
import { asked, type Chat, drawExercise, drawSystem, drawTask, kinds } from "../corpus/chats.ts";
import type { Split } from "../corpus/held-out.ts";
import { turnKinds, type Turn } from "../corpus/tools/tasks.ts";
import type { GenerateOptions, Generator } from "./generate.ts";
import { encodeChat } from "../learner/rows.ts";

export interface Score {
  readonly count: number;
  readonly right: number;
  /** Some of the wrong answers, for inspection. */
  readonly mistakes: readonly {
    readonly prompt: string;
    readonly expected: string;
    readonly answer: string;
  }[];
}

export interface KindAccuracy {
  readonly kind: string;
  /** Score on prompts whose wording is held out of training; their contents may occur in training. */
  readonly prompts: Score;
  /**
   * Description of the contents (such as words) that are excluded from training in any wording; null if the kind
   * excludes none.
   */
  readonly heldOut: string | null;
  /** Score on contents that are excluded from training; null if the kind excludes none. */
  readonly contents: Score | null;
}

export interface Model {
  readonly tokenizer: Tokenizer;
  readonly generator: Generator;
}

export interface MeasureOptions {
  /** Seed that selects the questions. */
  readonly seed: string;
  /** Number of questions per kind and per score: `count` for `prompts`, and `count` more for `contents`. */
  readonly count: number;
}

/** A source of questions of one kind. A question is a chat whose last turn the model must answer. */
interface Source {
  readonly kind: string;
  readonly heldOut: string | null;
  draw(random: Random, split: Split): Chat;
}

const sources: readonly Source[] = [
  ...kinds.map((kind) => ({
    kind: kind.name,
    heldOut: kind.heldOut,
    draw: (random: Random, split: Split): Chat => {
      const turns = [asked(drawExercise(random, kind, split))];
      return { system: drawSystem(random), tools: [], turns };
    },
  })),
  ...turnKinds.map((kind) => ({
    kind,
    heldOut: "tools, words, pairs of numbers",
    draw: (random: Random, split: Split) => drawUpTo(random, kind, split),
  })),
];

/** Names of the measured kinds. */
export const measuredKinds: readonly string[] = sources.map(({ kind }) => kind);

/** Draws a tool task and cuts it after the last turn of this kind. */
function drawUpTo(random: Random, kind: string, split: Split): Chat {
  for (;;) {
    const { tools, turns } = drawTask(random, split);
    const last = turns.findLastIndex((turn) => turn.kind === kind);
    if (last >= 0) return { system: drawSystem(random), tools, turns: turns.slice(0, last + 1) };
  }
}

/**
 * Lets the model answer held-out exercises of every kind greedily: `count` with held-out wordings and `count` with
 * held-out contents.
 */
export async function measureAccuracy(
  model: Model,
  options: MeasureOptions,
): Promise<readonly KindAccuracy[]> {
  const results: KindAccuracy[] = [];
  for (const source of sources) {
    const { kind, heldOut } = source;
    const prompts = await measure(model, source, "wordings", options);
    const contents = heldOut === null ? null : await measure(model, source, "contents", options);
    results.push({ kind, heldOut, prompts, contents });
  }
  return results;
}

async function measure(
  model: Model,
  source: Source,
  split: Split,
  { seed, count }: MeasureOptions,
): Promise<Score> {
  const random = seededRandom("accuracy", seed, source.kind, split);
  const chats = Array.from({ length: count }, () => source.draw(random, split));
  const answers = await answerAll(model, chats);
  const judged = chats.map(({ turns }, index) => ({
    turn: present(turns.at(-1), "a turn"),
    answer: present(answers[index], "an answer"),
  }));
  const wrong = judged.filter(({ turn, answer }) => !turn.accepts(answer));
  return {
    count,
    right: count - wrong.length,
    mistakes: wrong
      .slice(0, 5)
      .map(({ turn: { prompt, answer: expected }, answer }) => ({ prompt, expected, answer })),
  };
}

async function answerAll(
  { tokenizer, generator }: Model,
  chats: readonly Chat[],
  options: GenerateOptions = { temperature: 0, seed: 0, tokenCountMax: 64 },
): Promise<readonly string[]> {
  const prompts = chats.map((chat) => encodeQuestion(tokenizer, chat));
  const answers = await generator.generate(prompts, options);
  return answers.map((tokens) => tokenizer.decode(tokens, { skipSpecialTokens: true }));
}

/** Returns the tokens of a chat up to the start of its last answer. */
function encodeQuestion(tokenizer: Tokenizer, chat: Chat): readonly number[] {
  const turns = chat.turns.map((turn, index): Turn =>
    index === chat.turns.length - 1 ? { ...turn, answer: "" } : turn,
  );
  // Removes the three tokens after the empty answer: the end of the turn, a newline and the end of the text.
  return encodeChat(tokenizer, { ...chat, turns }).tokens.slice(0, -3);
}

export interface DemoStart {
  /** Mean reward by task, with answers of at most five tokens sampled at temperature 1.2. */
  readonly rewards: Readonly<Record<string, number>>;
  /** Number of samples by their first word. */
  readonly words: Readonly<Record<string, number>>;
  /** Greedy answer to each prompt. */
  readonly greedy: readonly { readonly prompt: string; readonly answer: string }[];
}

/** Measures an untrained policy on the demo's prompts. */
export async function measureDemoStart(
  model: Model,
  options: { readonly seeds: number; readonly samplesPerPrompt: number },
): Promise<DemoStart> {
  const questions = demoPrompts.map((prompt): Chat => {
    const turn = { kind: "demo", prompt, answer: "", accepts: () => true, contents: [] };
    return { system: null, tools: [], turns: [asked(turn)] };
  });
  const repeated = questions.flatMap((question) =>
    Array.from({ length: options.samplesPerPrompt }, () => question),
  );
  const samples: string[] = [];
  for (let seed = 0; seed < options.seeds; seed++) {
    samples.push(...(await answerAll(model, repeated, { temperature: 1.2, seed, tokenCountMax: 5 })));
  }
  const greedy = await answerAll(model, questions, { temperature: 0, seed: 0, tokenCountMax: 5 });
  return {
    rewards: Object.fromEntries(
      words.map((word) => [
        `prefers ${word}`,
        samples.reduce((sum, answer) => sum + rewardOf(answer, word), 0) / samples.length,
      ]),
    ),
    words: countWords(samples.map(firstWord)),
    greedy: demoPrompts.map((prompt, index) => ({ prompt, answer: greedy[index] ?? "" })),
  };
}

function countWords(found: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const word of found) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([, countA], [, countB]) => countB - countA).slice(0, 8));
}
