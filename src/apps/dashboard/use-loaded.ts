// What a view shows of the server: loaded when it opens, again every few seconds while the page is seen, and let go when
// the view closes.
import { useCallback, useEffect, useState } from "preact/hooks";
import { HoneError } from "../client/hone-error.ts";
import { untilSeen } from "./seen.ts";
import { signOut } from "./session.ts";

export interface Loaded<Value> {
  /** As it was loaded last; null before. */
  readonly value: Value | null;
  /** Why the last try failed, in words; null where it did not. */
  readonly failure: string | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * @param load called anew whenever one of `given` changes
 * @param everyMs how long after an answer it is asked again; null asks once
 */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  given: readonly unknown[],
  everyMs: number | null = null,
): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "reload">>({
    value: null,
    failure: null,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    setState((before) => ({ ...before, isLoading: true }));
    const once = async (): Promise<void> => {
      try {
        const value = await load(signal);
        if (!signal.aborted) setState({ value, failure: null, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof HoneError && error.status === 401) signOut();
        setState((before) => ({ ...before, failure: wordsOf(error), isLoading: false }));
      }
    };
    const repeat = async (): Promise<void> => {
      await once();
      if (everyMs === null) return;
      while (!signal.aborted) {
        await pause(everyMs, signal);
        await untilSeen(signal);
        if (!signal.aborted) await once();
      }
    };
    void repeat();
    return () => leaving.abort();
    // What `load` closes over is what the caller gives.
  }, [...given, turn, everyMs]);
  return { ...state, reload };
}

/** An error as people read it. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
