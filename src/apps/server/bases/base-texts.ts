// What turns text into the tokens of a base model and back: its tokenizer, what is read out of its answers, and prompt
// threads. Opened at its first use, and closed when nobody used it for a while and its engine is not in memory either.
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
  /** What its tokens stand for. */
  readonly vocabulary: TokenVocabulary;
  readonly prompts: PromptThreads;
}

export interface BaseTextsOptions {
  readonly open: () => Promise<Texts>;
  /** The error that users get if they cannot be opened, made of what went wrong. */
  readonly refusal: (error: unknown) => ServiceError;
  /** Opened by the start; else by their first use. */
  readonly isOpenAtStart: boolean;
  /** Whether the base is used all the while, so that they stay. */
  readonly isLoaded: () => boolean;
  readonly clock: Clock;
}

/** How long texts that could not be opened are not tried again. */
const retryMs = 10_000;

/** Clients that count tokens of a model that is not loaded come more often than this. */
const idleMs = 60_000;

export interface BaseTexts extends Service {
  /**
   * Opens them where they are not; they stay open until the release.
   *
   * @throws ServiceError as `refusal` makes it, for files that cannot be read as a tokenizer
   */
  use(): Promise<{ readonly texts: Texts; readonly release: () => void }>;
  /** To be called when the base's engine was let go. */
  letGo(): void;
  /** Why they could not be opened when that was last tried, for people; null unless it failed. */
  readonly fault: string | null;
  /** Prompts that wait to be rendered. */
  readonly waitingCount: number;
}

/** Texts that are not open yet. */
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
