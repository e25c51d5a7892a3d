// The session of one annotator in a queue: the leased item, its answers so far, and undo. User interfaces (the
// terminal and the web page) must not call its methods concurrently.
import type { AnnotationItem, AnnotationItemContent, AnnotationQueue, AskedQuestion } from "../api.ts";
import type { QueueCalls, QueueName } from "../calls/feedback/queue-calls.ts";

/** A leased item with its content. */
export interface HeldItem {
  readonly item: AnnotationItem;
  /** Content to judge; null if the server has only the item's reference. */
  readonly content: AnnotationItemContent | null;
}

export interface SessionState {
  readonly queue: AnnotationQueue;
  readonly annotator: string;
  /** The leased item; null if no item is available. */
  readonly held: HeldItem | null;
  /** Answers given so far to the item's questions, by question name. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** The question to answer next; null if there is no item or the queue has no questions. */
  readonly question: AskedQuestion | null;
  /** Index of the question, from 0. */
  readonly questionIndex: number;
  /** Items that the annotator finished in this session. */
  readonly answeredCount: number;
  readonly skippedCount: number;
  /** Items that the annotator had finished before this session. */
  readonly earlier: { readonly completed: number; readonly skipped: number };
  readonly remaining: { readonly open: number; readonly held: number };
  readonly canUndo: boolean;
}

export interface SessionOptions {
  /** Name of the annotator; default: the owner of the key. */
  readonly annotator?: string | undefined;
  readonly holdSeconds?: number | undefined;
}

type Claimed = Awaited<ReturnType<QueueCalls["claim"]>>;

/** Interval in seconds at which a session without an item polls for one. */
const pollSeconds = 5;

export class AnnotationSession {
  readonly #queues: QueueCalls;
  readonly #name: QueueName;
  readonly #said: { readonly annotator?: string; readonly hold_seconds?: number };
  readonly #done: { readonly itemId: string; readonly state: "answered" | "skipped" }[] = [];
  #state: SessionState;
  /** Seconds since the lease was last renewed. */
  #waitedSeconds = 0;

  private constructor(queues: QueueCalls, name: QueueName, options: SessionOptions, state: SessionState) {
    this.#queues = queues;
    this.#name = name;
    this.#said = saidOf(options);
    this.#state = state;
  }

  /**
   * Starts a session and claims the first item.
   *
   * @throws HoneError if the queue does not exist
   */
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
      earlier: { completed: 0, skipped: 0 },
      remaining: { open: 0, held: 0 },
      canUndo: false,
    });
    await session.#next();
    await session.#countEarlier();
    return session;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Number of seconds until {@link keep} should be called again. */
  get keepSeconds(): number {
    return Math.min(pollSeconds, (this.#holdSeconds ?? Infinity) / 3);
  }

  /**
   * Stores the answer to the current question; undefined leaves it unanswered. After the item's last question, sends
   * its answers and claims the next item.
   */
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

  /** Skips the item permanently and claims the next one. */
  async skip(): Promise<void> {
    const { held } = this.#state;
    if (held === null) return;
    const skipped = { ...this.#annotator, annotation_state: "skipped" } as const;
    await this.#queues.progress({ ...this.#name, item_id: held.item.id }, skipped);
    this.#done.push({ itemId: held.item.id, state: "skipped" });
    await this.#next();
  }

  /** Returns to the previous question; at an item's first question, reopens the item answered or skipped before it. */
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
    // The current item becomes available to other annotators, and later also to this annotator again.
    if (held !== null) await this.#release(held.item.id);
    this.#show(reopened);
  }

  /**
   * Renews the lease of the item once a third of the lease's duration has passed. If the session has no item, tries to
   * claim one. The caller must call this function every `keepSeconds`.
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

  /** Tries to claim an item if the session holds none. */
  async look(): Promise<void> {
    if (this.#state.held === null) await this.#next();
  }

  /** Releases the item that the session holds, if it holds one. */
  async leave(): Promise<void> {
    const { held } = this.#state;
    if (held === null) return;
    await this.#release(held.item.id);
    this.#state = { ...this.#state, ...noItem };
  }

  /** Duration of the current lease in seconds, computed from the server's times; null without a lease. */
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

  async #countEarlier(): Promise<void> {
    const { project_id, queue_id } = this.#name;
    const [stats] = await this.#queues.stats({ project_id, queue_ids: [queue_id] });
    const own = stats?.annotators.find(({ annotator }) => annotator === this.#state.annotator);
    if (own !== undefined) this.#state = { ...this.#state, earlier: own };
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

/** Returns how many items an annotator has finished in all sessions, and how many there are for the annotator. */
export function progressOf({ answeredCount, skippedCount, earlier, remaining }: SessionState) {
  const skipped = skippedCount + earlier.skipped;
  const done = answeredCount + earlier.completed + skipped;
  return { done, skipped, total: done + remaining.open };
}
