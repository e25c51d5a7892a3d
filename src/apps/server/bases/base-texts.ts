// The text components ("texts") of a base model: its tokenizer, its answer parsers, and its prompt threads. They are
// opened at the first use, and closed after a minute without use, unless the base's engine is loaded.
import type { Clock } from "../../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import type { TokenVocabulary } from "../../../base/domain/vocabulary.ts";
import type { PromptThreads } from "../../../inference/chat/prompts/prompt-threads.ts";
import type { ReplyAbilities } from "../../../inference/chat/reply-abilities.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";

export interface Texts {
  readonly tokenizer: Tokenizer;
  readonly replies: ReplyAbilities;
  /** Text of each token. */
  readonly vocabulary: TokenVocabulary;
  readonly prompts: PromptThreads;
}

export interface BaseTextsOptions {
  readonly open: () => Promise<Texts>;
  /** Converts an error that `open` has thrown to the error that users get. */
  readonly refusal: (error: unknown) => ServiceError;
  /** True to open the texts at the server's start, false to open them at the first use. */
  readonly isOpenAtStart: boolean;
  /** Returns true while the base's engine is loaded, which keeps the texts open. */
  readonly isLoaded: () => boolean;
  readonly clock: Clock;
}

/** Time before opening is retried after a failure. */
const retryMs = 10_000;

/**
 * Idle time before the text components are closed. Clients that count tokens usually call often, so the components of a
 * model whose engine is not loaded stay open between these calls.
 */
const idleMs = 60_000;

export interface BaseTexts extends Service {
  /**
   * Opens the texts if necessary, and keeps them open until `release` is called.
   *
   * @throws ServiceError made by `refusal`, if the tokenizer's files cannot be read
   */
  use(): Promise<{ readonly texts: Texts; readonly release: () => void }>;
  /** Call after the base's engine was evicted. Closes the text components a minute after their last use. */
  letGo(): void;
  /** Error message of the last attempt to open the texts; null if it succeeded. */
  readonly fault: string | null;
  /** Number of prompts waiting to be rendered. */
  readonly waitingCount: number;
}

/** Creates the text components without opening them. */
export function createBaseTexts({
  open,
  refusal,
  isOpenAtStart,
  isLoaded,
  clock,
}: BaseTextsOptions): BaseTexts {
  let opened: Promise<Texts> | null = null;
  let current: Texts | null = null;
  let failure: { readonly error: ServiceError; readonly retryAtMs: number } | null = null;
  let useCount = 0;
  let isOver = false;
  let waking = new AbortController();
  const close = async (): Promise<void> => {
    const closing = current;
    [opened, current] = [null, null];
    await closing?.prompts.stop();
  };
  const letGo = (): void => {
    waking.abort(waitOver);
    if (isOver) return;
    waking = new AbortController();
    clock.sleep(idleMs, { signal: waking.signal }).then(
      () => (useCount === 0 && !isLoaded() ? close() : undefined),
      () => undefined,
    );
  };
  const opening = async (): Promise<Texts> => {
    try {
      current = await open();
      failure = null;
      return current;
    } catch (error) {
      opened = null;
      failure = { error: refusal(error), retryAtMs: clock.monotonicMs() + retryMs };
      throw failure.error;
    }
  };
  const use: BaseTexts["use"] = async () => {
    if (isOver) throw new ServiceError({ code: "unavailable", message: "The server is stopping." });
    if (failure !== null && clock.monotonicMs() < failure.retryAtMs) throw failure.error;
    waking.abort(waitOver);
    useCount += 1;
    let isUsed = true;
    const release = (): void => {
      if (!isUsed) return;
      isUsed = false;
      useCount -= 1;
      if (useCount === 0 && !isLoaded()) letGo();
    };
    try {
      return { texts: await (opened ??= opening()), release };
    } catch (error) {
      release();
      throw error;
    }
  };
  return {
    ...serviceOf("prompt threads", {
      start: async () => {
        if (isOpenAtStart) (await use()).release();
        await current?.prompts.start();
      },
      stop: async () => {
        isOver = true;
        waking.abort(waitOver);
        await opened?.catch(() => undefined);
        await close();
      },
    }),
    use,
    letGo,
    get fault() {
      return failure?.error.message ?? null;
    },
    get waitingCount() {
      return current?.prompts.waitingCount ?? 0;
    },
  };
}
