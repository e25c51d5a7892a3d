// A conversation with several models or versions. All get the same questions, settings and seed, but each has its own
// history. Answers are shown in columns if the terminal is wide enough, otherwise one after another.
import type { ChatCompletion, Message } from "../../client/api.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { freshSeed } from "../../../base/domain/random.ts";
import { LiveScreen } from "../watch/live-screen.ts";
import {
  type Conversation,
  type ChatSettings,
  type AskOptions,
  firstMessages,
  toChatRequest,
  type ChatClient,
  printAnswer,
} from "./conversation.ts";
import { columnsFit, type ColumnAnswer, renderColumns } from "./columns.ts";

/** Minimum interval between redraws in milliseconds. */
const redrawMs = 50;

/** A model in the conversation, with its message history. */
interface Speaker {
  readonly model: string;
  history: readonly Message[];
}

/** An answer in progress. */
interface Answering {
  readonly speaker: Speaker;
  readonly messages: readonly Message[];
  text: string;
  /** Finish reason and duration, or `failed`; null while the answer is in progress. */
  end: string | null;
  error: Error | null;
}

export class SeveralModels implements Conversation {
  readonly #client: ChatClient;
  readonly #asking: ChatSettings;
  readonly #clock: Clock;
  readonly #speakers: readonly Speaker[];

  /** @param models names of at least two models */
  constructor(client: ChatClient, models: readonly string[], asking: ChatSettings, clock: Clock) {
    this.#client = client;
    this.#asking = asking;
    this.#clock = clock;
    this.#speakers = models.map((model) => ({ model, history: firstMessages(asking) }));
  }

  /**
   * Asks all models, and shows a model's error in place of its answer.
   *
   * @throws the first error if all models fail
   */
  async ask(question: string, { signal }: AskOptions = {}): Promise<void> {
    const asking = { ...this.#asking, seed: this.#asking.seed ?? freshSeed() % 2 ** 31 };
    const answers = this.#speakers.map((speaker): Answering => ({
      speaker,
      messages: [...speaker.history, { role: "user", content: question }],
      text: "",
      end: null,
      error: null,
    }));
    const options = signal === undefined ? {} : { signal };
    const { columns } = process.stdout;
    if (asking.json !== null) await this.#askForJson(question, answers, { asking, options });
    else if (process.stdout.isTTY && columnsFit(answers.length, columns))
      await this.#askBeside(answers, { asking, options });
    else await this.#askInTurn(answers, { asking, options });
    signal?.throwIfAborted();
    for (const { speaker, messages, text, error } of answers)
      if (error === null) speaker.history = [...messages, { role: "assistant", content: text }];
    const [first] = answers;
    if (first?.error && answers.every(({ error }) => error !== null)) throw first.error;
  }

  async #askForJson(
    question: string,
    answers: readonly Answering[],
    { asking, options }: How,
  ): Promise<void> {
    const whole = await Promise.all(answers.map((answering) => this.#whole(answering, { asking, options })));
    const shown = answers.map(({ speaker: { model }, error }, index) => ({
      model,
      answer: whole[index],
      error: error === null ? null : error.message,
    }));
    printAnswer({ question, seed: asking.seed, answers: shown }, asking);
  }

  async #whole(answering: Answering, { asking, options }: How): Promise<ChatCompletion | null> {
    const { speaker, messages } = answering;
    try {
      const answer = await this.#client.chat.create(toChatRequest(speaker.model, messages, asking), options);
      answering.text = answer.choices[0]?.message.content ?? "";
      return answer;
    } catch (error) {
      answering.error = asError(error);
      return null;
    }
  }

  async #askBeside(answers: readonly Answering[], how: How): Promise<void> {
    const screen = new LiveScreen(process.stdout);
    const picture = (rowsMax: number): readonly string[] =>
      renderColumns(answers.map(shown), { columns: process.stdout.columns, rows: rowsMax });
    let drawnAtMs = -Infinity;
    const draw = (): void => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - drawnAtMs < redrawMs) return;
      drawnAtMs = nowMs;
      screen.show(picture(process.stdout.rows - 1));
    };
    const restoreCursor = (): void => {
      screen.end();
      process.exit(130);
    };
    process.once("SIGINT", restoreCursor);
    try {
      await Promise.all(answers.map((answering) => this.#stream(answering, how, draw)));
    } finally {
      process.off("SIGINT", restoreCursor);
      // Clears the live display, then prints the complete answers. They may be longer than the screen.
      screen.show([]);
      screen.end();
    }
    process.stdout.write(`${picture(Infinity).join("\n")}\n`);
  }

  async #askInTurn(answers: readonly Answering[], how: How): Promise<void> {
    for (const [index, answering] of answers.entries()) {
      process.stdout.write(`${index === 0 ? "" : "\n"}== ${answering.speaker.model}\n`);
      let shownLength = 0;
      await this.#stream(answering, how, () => {
        const { text } = shown(answering);
        process.stdout.write(text.slice(shownLength));
        shownLength = text.length;
      });
      process.stdout.write(answering.error === null ? "\n" : `${answering.error.message}\n`);
    }
  }

  /** Streams an answer. Never throws: an error is stored in the answer. */
  async #stream(answering: Answering, { asking, options }: How, onText: () => void): Promise<void> {
    const { speaker, messages } = answering;
    const startMs = this.#clock.monotonicMs();
    try {
      const body = toChatRequest(speaker.model, messages, asking);
      let reason: string | null = null;
      for await (const chunk of this.#client.chat.stream(body, options)) {
        const [choice] = chunk.choices;
        answering.text += choice?.delta.content ?? "";
        reason = choice?.finish_reason ?? reason;
        onText();
      }
      const seconds = (this.#clock.monotonicMs() - startMs) / 1000;
      answering.end = `${reason ?? "ended"}, ${seconds.toFixed(1)} s`;
    } catch (error) {
      answering.error = asError(error);
      answering.end = "failed";
    }
  }
}

/** Settings and abort signal of one question. */
interface How {
  readonly asking: ChatSettings;
  readonly options: AskOptions;
}

function shown({ speaker: { model }, text, end, error }: Answering): ColumnAnswer {
  return { model, text: error === null ? text : `${text}\n${error.message}`.trim(), end };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
