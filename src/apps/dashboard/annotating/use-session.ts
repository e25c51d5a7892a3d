// Hook for an annotator's session. It runs calls one after another, and provides the state that the server has
// confirmed.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { AnnotationSession, type SessionState } from "../../client/annotating/annotation-session.ts";
import type { QueueName } from "../../client/calls/feedback/queue-calls.ts";
import type { Hone } from "../../client/hone.ts";
import { messageOf } from "../components/errors/error-text.ts";

export interface UsedSession {
  /** State of the session; null until it has begun. */
  readonly state: SessionState | null;
  /** Message of the last error; null if there is none. */
  readonly failure: string | null;
  readonly run: (work: (session: AnnotationSession) => Promise<void>) => void;
}

/**
 * Begins a session when the view opens, keeps the lease of its item, and releases the item when the view closes.
 *
 * @param annotator name of the annotator; empty for the owner of the key
 */
export function useSession(hone: Hone, { project_id, queue_id }: QueueName, annotator: string): UsedSession {
  const [state, setState] = useState<SessionState | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const session = useRef<AnnotationSession | null>(null);
  const last = useRef<Promise<void>>(Promise.resolve());
  const inTurn = useCallback((work: () => Promise<void>): void => {
    const behind = async (before: Promise<void>): Promise<void> => {
      await before;
      try {
        await work();
        setFailure(null);
      } catch (error) {
        setFailure(messageOf(error));
      }
      if (session.current !== null) setState(session.current.state);
    };
    last.current = behind(last.current);
  }, []);
  const run = useCallback(
    (work: (session: AnnotationSession) => Promise<void>): void => {
      inTurn(async () => {
        if (session.current !== null) await work(session.current);
      });
    },
    [inTurn],
  );
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keepOn = (): void => {
      timer = setTimeout(
        () => {
          run((one) => one.keep());
          keepOn();
        },
        (session.current?.keepSeconds ?? 0) * 1000,
      );
    };
    let isOpen = true;
    inTurn(async () => {
      const named = annotator === "" ? {} : { annotator };
      session.current = await AnnotationSession.begin(hone.queues, { project_id, queue_id }, named);
      if (isOpen) keepOn();
    });
    return () => {
      isOpen = false;
      clearTimeout(timer);
      run((one) => one.leave());
    };
  }, [hone, project_id, queue_id, annotator]);
  return { state, failure, run };
}
