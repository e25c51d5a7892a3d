// How well a model answers held-out exercises of each kind, and where it starts on the demo's task.
import { firstWord, prompts, rewardOf, words } from "../../src/cli/demo/task.ts";
import { present } from "../../src/domain/assert.ts";
import { seededRandom } from "../../src/domain/random.ts";
import type { Tokenizer } from "../../src/tokenizer/tokenizer.ts";
import { type Chat, drawExercise, drawSystem, kinds } from "./corpus/chats.ts";
import type { Exercise } from "./corpus/exercise.ts";
import type { GenerateOptions, Generator } from "./generate.ts";
import { encodeChat } from "./rows.ts";

export interface KindAccuracy {
  readonly kind: string;
  readonly count: number;
  readonly right: number;
  /** A few of the wrong ones, to look at. */
  readonly mistakes: readonly {
    readonly prompt: string;
    readonly expected: string;
    readonly answer: string;
  }[];
}

export interface Model {
  readonly tokenizer: Tokenizer;
  readonly generator: Generator;
}

/** Greedy answers to `count` held-out exercises of every kind; the same seed asks the same. */
export async function measureAccuracy(
  model: Model,
  options: { readonly seed: string; readonly count: number },
): Promise<readonly KindAccuracy[]> {
  const results: KindAccuracy[] = [];
  for (const kind of kinds) {
    const random = seededRandom("accuracy", options.seed, kind.name);
    const exercises = Array.from({ length: options.count }, () => drawExercise(random, kind, "held-out"));
    const answers = await answerAll(
      model,
      exercises.map(({ prompt }) => ({ system: drawSystem(random), prompt })),
    );
    const judged = exercises.map((exercise, index) => judge(exercise, present(answers[index], "an answer")));
    const wrong = judged.filter(({ isRight }) => !isRight);
    results.push({
      kind: kind.name,
      count: exercises.length,
      right: exercises.length - wrong.length,
      mistakes: wrong
        .slice(0, 5)
        .map(({ exercise, answer }) => ({ prompt: exercise.prompt, expected: exercise.answer, answer })),
    });
  }
  return results;
}

function judge(exercise: Exercise, answer: string): { exercise: Exercise; answer: string; isRight: boolean } {
  return { exercise, answer, isRight: exercise.accepts(answer) };
}

interface Question {
  readonly system: string | null;
  readonly prompt: string;
}

async function answerAll(
  { tokenizer, generator }: Model,
  questions: readonly Question[],
  options: GenerateOptions = { temperature: 0, seed: 0, tokenCountMax: 64 },
): Promise<readonly string[]> {
  const prompts = questions.map(({ system, prompt }) => encodeQuestion(tokenizer, system, prompt));
  const answers = await generator.generate(prompts, options);
  return answers.map((tokens) => tokenizer.decode(tokens, { skipSpecialTokens: true }));
}

/** A chat up to where the answer begins. */
function encodeQuestion(tokenizer: Tokenizer, system: string | null, prompt: string): readonly number[] {
  const chat: Chat = { system, turns: [{ kind: "question", prompt, answer: "", accepts: () => true }] };
  // What follows an empty answer: the end of the turn, a newline, the end of the text.
  return encodeChat(tokenizer, chat).tokens.slice(0, -3);
}

export interface DemoStart {
  /** Mean reward by task, sampled at temperature 1.2 with five tokens at most. */
  readonly rewards: Readonly<Record<string, number>>;
  /** How often each first word was sampled. */
  readonly words: Readonly<Record<string, number>>;
  /** The greedy answer to each prompt. */
  readonly greedy: readonly { readonly prompt: string; readonly answer: string }[];
}

/** Where the untrained policy stands on the demo's prompts. */
export async function measureDemoStart(
  model: Model,
  options: { readonly seeds: number; readonly samplesPerPrompt: number },
): Promise<DemoStart> {
  const questions = prompts.map((prompt) => ({ system: null, prompt }));
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
    greedy: questions.map(({ prompt }, index) => ({ prompt, answer: greedy[index] ?? "" })),
  };
}

function countWords(found: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const word of found) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([, countA], [, countB]) => countB - countA).slice(0, 8));
}
