// Hook for both answers of a comparison, which are requested and stopped together.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { messageOf } from "../use-loaded.ts";
import {
  type AnswerState,
  answerBody,
  answerStates,
  type Message,
  noAnswer,
  type Sampling,
} from "./stream-answer.ts";

export type SideState =
  | { readonly kind: "empty" }
  | { readonly kind: "running" | "ended" | "stopped"; readonly answer: AnswerState }
  | { readonly kind: "failed"; readonly answer: AnswerState; readonly message: string };

export interface Answers {
  readonly sides: readonly [SideState, SideState];
  readonly isRunning: boolean;
  readonly ask: (models: readonly [string, string], messages: readonly Message[], sampling: Sampling) => void;
  readonly stop: () => void;
}

const nothing: readonly [SideState, SideState] = [{ kind: "empty" }, { kind: "empty" }];

export function useAnswers(hone: Hone): Answers {
  const [sides, setSides] = useState(nothing);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const put = (index: 0 | 1, state: SideState): void =>
    setSides(([left, right]) => (index === 0 ? [state, right] : [left, state]));
  const ask: Answers["ask"] = (models, messages, sampling) => {
    running.current?.abort();
    const stopping = new AbortController();
    running.current = stopping;
    setSides([
      { kind: "running", answer: noAnswer },
      { kind: "running", answer: noAnswer },
    ]);
    for (const index of [0, 1] as const) {
      const show = (state: SideState): void => {
        // Ignores the state of an answer if the user has asked another question in the meantime.
        if (running.current === stopping) put(index, state);
      };
      const body = answerBody(models[index], messages, sampling);
      void showAnswer(hone, body, { signal: stopping.signal, show });
    }
  };
  return {
    sides,
    isRunning: sides.some(({ kind }) => kind === "running"),
    ask,
    stop: () => running.current?.abort(),
  };
}

/** Returns the time of the current frame. Times therefore match what the screen shows. */
function frameMs(): number {
  return Number(document.timeline.currentTime);
}

/** Shows a streamed answer while it arrives, updating it at most once per frame. */
async function showAnswer(
  hone: Hone,
  body: ReturnType<typeof answerBody>,
  { signal, show }: { readonly signal: AbortSignal; readonly show: (state: SideState) => void },
): Promise<void> {
  let answer = noAnswer;
  let frame = 0;
  const draw = (): void => {
    frame = 0;
    show({ kind: "running", answer });
  };
  const end = (state: SideState): void => {
    cancelAnimationFrame(frame);
    show(state);
  };
  try {
    const chunks = hone.chat.stream(body, { signal });
    for await (const state of answerStates(chunks, frameMs)) {
      answer = state;
      if (frame === 0) frame = requestAnimationFrame(draw);
    }
    end({ kind: "ended", answer });
  } catch (error) {
    end(signal.aborted ? { kind: "stopped", answer } : { kind: "failed", answer, message: messageOf(error) });
  }
}
