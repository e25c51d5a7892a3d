// One annotator at work in a queue: the item that is held, what was answered of it so far, and what can be taken back. Whoever
// shows it, a terminal or a page, calls these methods one at a time.
import type { AnnotationItem, AnnotationItemContent, AnnotationQueue, AskedQuestion } from "../api.ts";
import type { QueueCalls, QueueName } from "../calls/feedback/queue-calls.ts";

/** An item as it is shown. */
export interface HeldItem {
  readonly item: AnnotationItem;
  /** What the call says; null where the server knows no more of it than its reference. */
  readonly content: AnnotationItemContent | null;
}

export interface SessionState {
  readonly queue: AnnotationQueue;
  readonly annotator: string;
  /** Null where there is none to do now. */
  readonly held: HeldItem | null;
  /** Of the item: answers so far, by the names of their questions. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** The question that waits for its answer; null without an item, or where the queue asks nothing. */
  readonly question: AskedQuestion | null;
  /** Counts from 0. */
  readonly questionIndex: number;
  readonly answeredCount: number;
  readonly skippedCount: number;
  readonly remaining: { readonly open: number; readonly held: number };
  readonly canUndo: boolean;
}

export interface SessionOptions {
  /** The owner of the key unless given. */
  readonly annotator?: string | undefined;
  readonly holdSeconds?: number | undefined;
}

type Claimed = Awaited<ReturnType<QueueCalls["claim"]>>;

/** Between two looks for an item that others gave back. */
const lookSeconds = 5;

export class AnnotationSession {
  readonly #queues: QueueCalls;
  readonly #name: QueueName;
  readonly #said: { readonly annotator?: string; readonly hold_seconds?: number };
  readonly #done: { readonly itemId: string; readonly state: "answered" | "skipped" }[] = [];
  #state: SessionState;
  /** Since the item was last held. */
  #waitedSeconds = 0;

  private constructor(queues: QueueCalls, name: QueueName, options: SessionOptions, state: SessionState) {
    this.#queues = queues;
    this.#name = name;
    this.#said = saidOf(options);
    this.#state = state;
  }

  /** Claims the first item. @throws HoneError where there is no such queue */
  static async begin(
    queues: QueueCalls,
    name: QueueName,
    options: SessionOptions = {},
  ): Promise<AnnotationSession> {
    const queue = await queues.get(name);
    const session = new AnnotationSession(queues, name, options, {
      ...noItem,
      queue,
      annotator: options.annotator ?? "",
      answeredCount: 0,
      skippedCount: 0,
      remaining: { open: 0, held: 0 },
      canUndo: false,
    });
    await session.#next();
    return session;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** After how many seconds {@link keep} is to be called again. */
  get keepSeconds(): number {
    return Math.min(lookSeconds, (this.#holdSeconds ?? Infinity) / 3);
  }

  /** Answers the question that waits; undefined leaves it out. After the last one the answers are sent. */
  async answer(value: unknown): Promise<void> {
    const { held, queue, question, questionIndex } = this.#state;
    if (held === null) return;
    const answers = new Map(this.#state.answers);
    if (question !== null && value === undefined) answers.delete(question.name);
    else if (question !== null) answers.set(question.name, value);
    if (questionIndex + 1 < queue.asked.length) {
      this.#ask(questionIndex + 1, answers);
      return;
    }
    const sent = { ...this.#annotator, answers: Object.fromEntries(answers) };
    await this.#queues.answer({ ...this.#name, item_id: held.item.id }, sent);
    this.#done.push({ itemId: held.item.id, state: "answered" });
    await this.#next();
  }

  /** Passes over the item for good. */
  async skip(): Promise<void> {
    const { held } = this.#state;
    if (held === null) return;
    const skipped = { ...this.#annotator, annotation_state: "skipped" } as const;
    await this.#queues.progress({ ...this.#name, item_id: held.item.id }, skipped);
    this.#done.push({ itemId: held.item.id, state: "skipped" });
    await this.#next();
  }

  /** Goes back: to the question before, or else to the item before, whose answers are taken back. */
  async undo(): Promise<void> {
    const { questionIndex, answers, held } = this.#state;
    if (questionIndex > 0) {
      this.#ask(questionIndex - 1, answers);
      return;
    }
    const last = this.#done.at(-1);
    if (last === undefined) return;
    const reopened = await this.#queues.reopen({ ...this.#name, item_id: last.itemId }, this.#said);
    this.#done.pop();
    // Others may have it meanwhile; the annotator will be given it again.
    if (held !== null) await this.#release(held.item.id);
    this.#show(reopened);
  }

  /**
   * Keeps the item that is held from others, by holding it anew when a third of its time is over; without one looks whether
   * there is one by now. Whoever shows the session waits for `keepSeconds`, calls it, and does so again.
   */
  async keep(): Promise<void> {
    const { held } = this.#state;
    if (held === null) {
      await this.look();
      return;
    }
    this.#waitedSeconds += this.keepSeconds;
    if (this.#waitedSeconds < (this.#holdSeconds ?? 0) / 3) return;
    const progress = { ...this.#said, annotation_state: "in_progress" } as const;
    const item = await this.#queues.progress({ ...this.#name, item_id: held.item.id }, progress);
    this.#state = { ...this.#state, held: { ...held, item } };
    this.#waitedSeconds = 0;
  }

  /** Looks again whether there is an item, where there was none. */
  async look(): Promise<void> {
    if (this.#state.held === null) await this.#next();
  }

  /** Gives back the item that is held. */
  async leave(): Promise<void> {
    const { held } = this.#state;
    if (held === null) return;
    await this.#release(held.item.id);
    this.#state = { ...this.#state, ...noItem };
  }

  /** Seconds for which the item was last held, by the server's clock; null without an item. */
  get #holdSeconds(): number | null {
    const { held, annotator } = this.#state;
    const own = held?.item.annotations.find((one) => one.annotator === annotator);
    if (own === undefined || own.held_until === null) return null;
    return (Date.parse(own.held_until) - Date.parse(own.updated_at)) / 1000;
  }

  get #annotator(): { readonly annotator?: string } {
    const { annotator } = this.#said;
    return annotator === undefined ? {} : { annotator };
  }

  async #next(): Promise<void> {
    this.#show(await this.#queues.claim(this.#name, this.#said));
  }

  #show({ item, content, annotator, remaining }: Claimed): void {
    this.#waitedSeconds = 0;
    const counted = (state: string): number => this.#done.filter((one) => one.state === state).length;
    this.#state = {
      ...this.#state,
      ...noItem,
      annotator,
      held: item === null ? null : { item, content },
      question: item === null ? null : (this.#state.queue.asked[0] ?? null),
      answeredCount: counted("answered"),
      skippedCount: counted("skipped"),
      remaining,
      canUndo: this.#done.length > 0,
    };
  }

  #ask(questionIndex: number, answers: ReadonlyMap<string, unknown>): void {
    const question = this.#state.queue.asked[questionIndex] ?? null;
    this.#state = { ...this.#state, questionIndex, question, answers, canUndo: true };
    if (questionIndex === 0) this.#state = { ...this.#state, canUndo: this.#done.length > 0 };
  }

  async #release(itemId: string): Promise<void> {
    await this.#queues.release({ ...this.#name, item_id: itemId }, this.#annotator);
  }
}

const noItem = {
  held: null,
  question: null,
  questionIndex: 0,
  answers: new Map<string, unknown>(),
} as const;

function saidOf({ annotator, holdSeconds }: SessionOptions) {
  return {
    ...(annotator === undefined ? {} : { annotator }),
    ...(holdSeconds === undefined ? {} : { hold_seconds: holdSeconds }),
  };
}
