// Runs an annotation session until the annotator quits: handles each key and redraws the screen.
import { answerKeys, sessionKeys, typedAnswer } from "../../client/annotating/answer-keys.ts";
import type { AnnotationSession } from "../../client/annotating/annotation-session.ts";
import { HoneError } from "../../client/hone-error.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { AnnotateView } from "./annotate-view.ts";
import type { Key } from "./read-keys.ts";

export interface AnnotationRun {
  readonly session: AnnotationSession;
  readonly keys: AsyncIterable<Key>;
  readonly clock: Clock;
  readonly show: (view: AnnotateView) => void;
}

/**
 * Runs the session, and releases the leased item at the end.
 *
 * @throws any error other than HoneError; HoneErrors are shown on the screen
 */
export async function runAnnotation({ session, keys, clock, show }: AnnotationRun): Promise<void> {
  const at = { typed: null as string | null, scrolled: 0, notice: null as string | null };
  const draw = (): void => show({ state: session.state, ...at });
  /** The last call to the session. Each call waits for the previous one, whether a key or the timer starts it. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const behind = async (before: Promise<unknown>): Promise<void> => {
      await before;
      try {
        await work();
      } catch (error) {
        if (!(error instanceof HoneError)) throw error;
        at.notice = error.message;
      }
      draw();
    };
    const turn = behind(last);
    last = turn.catch(() => undefined);
    return turn;
  };
  const ending = new AbortController();
  const keeping = keepLease(session, { clock, inTurn, signal: ending.signal });
  draw();
  try {
    // The session does not end by itself after the last item, because its answer can still be undone. Only the
    // annotator ends it.
    for await (const key of keys) {
      if (key === "interrupt" || (at.typed === null && key === sessionKeys.quit)) break;
      await inTurn(() => take(session, at, key));
    }
  } finally {
    ending.abort();
    await keeping;
    await last;
    await session.leave().catch((error: unknown) => {
      // A failed release does no harm: the lease expires automatically.
      if (!(error instanceof HoneError)) throw error;
    });
  }
}

/** Until the signal aborts, periodically renews the lease, or asks for an item if none is leased. */
async function keepLease(
  session: AnnotationSession,
  {
    clock,
    inTurn,
    signal,
  }: {
    readonly clock: Clock;
    readonly inTurn: (work: () => Promise<void>) => Promise<void>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  while (!signal.aborted) {
    // `sleep` rejects when the signal aborts, which ends the loop.
    await clock.sleep(session.keepSeconds * 1000, { signal }).catch(() => undefined);
    if (!signal.aborted) await inTurn(() => session.keep());
  }
}

async function take(
  session: AnnotationSession,
  at: { typed: string | null; scrolled: number; notice: string | null },
  key: Key,
): Promise<void> {
  at.notice = null;
  const { question, held } = session.state;
  if (at.typed !== null) return type(session, at, key);
  const moved = async (work: Promise<void>): Promise<void> => {
    await work;
    at.scrolled = 0;
  };
  const scrolls: Readonly<Record<string, number>> = { up: -1, down: 1, "page-up": -10, "page-down": 10 };
  const by = scrolls[key];
  if (by !== undefined) at.scrolled = Math.max(0, at.scrolled + by);
  else if (key === sessionKeys.undo) return moved(session.undo());
  else if (held === null) return session.look();
  else if (key === sessionKeys.skip) return moved(session.skip());
  else if (question === null) {
    if (key === "enter") return moved(session.answer(undefined));
  } else {
    const keys = answerKeys(question);
    const answer = keys?.find((one) => one.key === key.toLowerCase());
    if (answer !== undefined) return moved(session.answer(answer.value));
    if (keys === null && key === "enter") at.typed = "";
    else if (question.optional && key === sessionKeys.leaveOut) return moved(session.answer(undefined));
  }
}

async function type(
  session: AnnotationSession,
  at: { typed: string | null; scrolled: number; notice: string | null },
  key: Key,
): Promise<void> {
  const { question } = session.state;
  if (key === "escape") at.typed = null;
  else if (key === "backspace")
    at.typed = graphemes(at.typed ?? "")
      .slice(0, -1)
      .join("");
  else if (key === "enter" && question !== null) {
    const read = typedAnswer(question, at.typed ?? "");
    if ("fault" in read) at.notice = read.fault;
    else {
      await session.answer(read.value);
      at.typed = null;
      at.scrolled = 0;
    }
  } else if (graphemes(key).length === 1) at.typed += key;
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

function graphemes(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
