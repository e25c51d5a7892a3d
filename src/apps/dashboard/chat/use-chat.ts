// Hook for a conversation: asks the models, streams their answers, and keeps the conversation in the page's address.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { webPlatform } from "../../client/platform.ts";
import { place, replaceQuery } from "../router.ts";
import { messageOf } from "../components/errors/error-text.ts";
import { chatBody } from "./chat-body.ts";
import type { ChatSettings } from "./chat-settings.ts";
import {
  decoded,
  encoded,
  messagesOf,
  type Reply,
  type Round,
  runningReply,
  withReply,
} from "./conversation.ts";
import { answerStates, noAnswer } from "./stream-answer.ts";

export interface Chat {
  readonly rounds: readonly Round[];
  readonly isRunning: boolean;
  /** True if the address contains the whole conversation. */
  readonly isKept: boolean;
  /** Asks a question after the given number of rounds; later rounds are dropped. */
  readonly ask: (question: string, roundCount: number) => void;
  /** Asks one model again for its answer in the last round. */
  readonly regenerate: (column: number) => void;
  /** Continues the last round of a model with the results of the tools that it called. */
  readonly answerCalls: (column: number, results: Readonly<Record<string, string>>) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

export function useChat(hone: Hone, settings: ChatSettings): Chat {
  const [rounds, setRounds] = useState(() => decoded(place.value.query.get("c")));
  const running = useRef(new Set<AbortController>());
  const stop = (): void => running.current.forEach((stopping) => stopping.abort());
  useEffect(() => stop, []);
  const isRunning = rounds.some(({ columns }) =>
    columns.some((replies) => replies.some(({ kind }) => kind === "running")),
  );
  const kept = encoded(rounds);
  useEffect(() => {
    if (isRunning) return;
    replaceQuery((query) => {
      if (kept === null || rounds.length === 0) query.delete("c");
      else query.set("c", kept);
    });
  }, [isRunning, kept]);

  /** Requests the newest reply of these columns in the last round. */
  const request = (all: readonly Round[], columns: readonly number[]): void => {
    setRounds(all);
    // All models get the same seed, so that only the models differ.
    const seed = settings.seed.trim() || String(Math.floor(webPlatform.uniform() * 2 ** 31));
    for (const column of columns) {
      const stopping = new AbortController();
      running.current.add(stopping);
      const show = (reply: Reply): void =>
        setRounds((now) => withReply(now, { round: all.length - 1, column }, reply));
      void showReply(
        hone,
        () =>
          chatBody(settings.models[column] ?? "", messagesOf(all, column, settings.system), {
            ...settings,
            seed,
          }),
        { results: {}, seed, signal: stopping.signal, show },
      ).finally(() => running.current.delete(stopping));
    }
  };
  const last = rounds.at(-1);
  const changeLast = (column: number, change: (replies: readonly Reply[]) => readonly Reply[]): void => {
    if (last === undefined) return;
    const columns = last.columns.map((replies, index) => (index === column ? change(replies) : replies));
    request([...rounds.slice(0, -1), { ...last, columns }], [column]);
  };
  return {
    rounds,
    isRunning,
    isKept: kept !== null,
    ask: (question, roundCount) => {
      stop();
      const columns = settings.models.map(() => [runningReply]);
      request([...rounds.slice(0, roundCount), { question, columns }], [...columns.keys()]);
    },
    regenerate: (column) => changeLast(column, () => [runningReply]),
    answerCalls: (column, results) =>
      changeLast(column, (replies) => [
        ...replies.slice(0, -1),
        ...replies.slice(-1).map((reply) => ({ ...reply, results })),
        runningReply,
      ]),
    stop,
    clear: () => {
      stop();
      setRounds([]);
    },
  };
}

/** Returns the time of the current frame. Times therefore match what the screen shows. */
function frameMs(): number {
  return Number(document.timeline.currentTime);
}

/** Number of alternatives requested for each token. */
const alternativeCount = 4;

/** Shows a streamed answer while it arrives, updating it at most once per frame. */
async function showReply(
  hone: Hone,
  body: () => ReturnType<typeof chatBody>,
  {
    results,
    seed,
    signal,
    show,
  }: Pick<Reply, "results" | "seed"> & {
    readonly signal: AbortSignal;
    readonly show: (reply: Reply) => void;
  },
): Promise<void> {
  let answer = noAnswer;
  let frame = 0;
  const put = (kind: Reply["kind"], failure: string | null = null): void => {
    cancelAnimationFrame(frame);
    frame = 0;
    show({ kind, answer, failure, results, seed });
  };
  try {
    const asked = { ...body(), logprobs: true, top_logprobs: alternativeCount };
    const chunks = hone.chat.stream(asked, { signal });
    for await (const state of answerStates(chunks, frameMs)) {
      answer = state;
      if (frame === 0) frame = requestAnimationFrame(() => put("running"));
    }
    put("ended");
  } catch (error) {
    if (signal.aborted) put("stopped");
    else put("failed", messageOf(error));
  }
}
