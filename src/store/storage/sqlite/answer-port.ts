// The answers of a session's thread on their way into the event loop, a few at a time. A port that is listened to gives
// all its messages at once, up to a thousand, before anything else has its turn: of two dozen readers of large rows each
// would be answered, ask for its next row and be answered again, and nobody else be heard for seconds. So answers come on
// a port that nobody listens to, and are taken from it here. Knows nothing of what they say.
import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";

/** Once answers, and what was waiting for them, have taken so long in a turn of the event loop, others have theirs. */
const turnMs = 5;

export class AnswerPort<Answer> {
  readonly #port: MessagePort;
  readonly #settle: (answer: Answer) => void;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** For the thread, which posts each answer there, and then says on a port of its own that one is there. */
  readonly threadEnd: MessagePort;
  #readyCount = 0;
  #isTaking = false;
  /** When the first answer of this turn was taken; null in a turn that has had none. */
  #turnStartMs: number | null = null;

  /** @param settle called with every answer, in order */
  constructor(settle: (answer: Answer) => void, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.threadEnd = port2;
    this.#settle = settle;
    this.#clock = clock;
  }

  /** One more answer is there. */
  announce(): void {
    this.#readyCount += 1;
    if (!this.#isTaking) void this.#take();
  }

  /** Takes all that were announced at once: the thread has ended. */
  end(): void {
    while (this.#readyCount > 0) this.#takeNext();
    this.#port.close();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    while (this.#readyCount > 0) {
      while (this.#isTurnOver()) await nextTurn();
      if (this.#readyCount > 0) this.#takeNext();
      // Whoever waited for it goes on first, in this turn's time.
      await Promise.resolve();
    }
    this.#isTaking = false;
  }

  #isTurnOver(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#turnStartMs === null) {
      this.#turnStartMs = nowMs;
      setImmediate(() => (this.#turnStartMs = null));
    }
    return nowMs - this.#turnStartMs >= turnMs;
  }

  #takeNext(): void {
    this.#readyCount -= 1;
    const received = receiveMessageOnPort(this.#port);
    // The thread posted one for each that it announced.
    if (received !== undefined) this.#settle(received.message as Answer);
  }
}
