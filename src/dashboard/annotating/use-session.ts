// An annotator's session as a view has it: what it does comes one after the other, and shows once the server has it.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { AnnotationSession, type SessionState } from "../../client/annotating/annotation-session.ts";
import type { Hone } from "../../client/hone.ts";
import { wordsOf } from "../use-loaded.ts";

export interface UsedSession {
  /** Null before the first item was asked for. */
  readonly state: SessionState | null;
  /** What went wrong last, in words. */
  readonly failure: string | null;
  readonly run: (work: (session: AnnotationSession) => Promise<void>) => void;
}

/** Between two looks for an item that others gave back. */
const lookSeconds = 5;

/** Begins when the view opens, and gives back what is held when it closes. */
export function useSession(hone: Hone, project_id: string, queue_id: string): UsedSession {
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
        setFailure(wordsOf(error));
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
    const holdOn = (): void => {
      const seconds = session.current?.holdSeconds ?? null;
      timer = setTimeout(
        () => {
          run((one) => (one.state.held === null ? one.look() : one.hold()));
          holdOn();
        },
        (seconds === null ? lookSeconds : seconds / 3) * 1000,
      );
    };
    inTurn(async () => {
      session.current = await AnnotationSession.begin(hone.queues, { project_id, queue_id });
      holdOn();
    });
    return () => {
      clearTimeout(timer);
      run((one) => one.leave());
    };
  }, [hone, project_id, queue_id]);
  return { state, failure, run };
}
