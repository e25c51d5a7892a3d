// Hook that loads data when a view opens and reloads it periodically while the page is visible, until the view closes.
// If loading failed because the server was away, the hook loads again once the server answers.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { HoneError } from "../client/hone-error.ts";
import { messageOf } from "./components/errors/error-text.ts";
import { isAway } from "./live.ts";
import { pause, untilVisible } from "./visibility.ts";
import { endSession } from "./session.ts";

export interface Loaded<Value> {
  /** Last loaded value; null before the first success. */
  readonly value: Value | null;
  /** Message of the last attempt's error; null if it succeeded. */
  readonly failure: string | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Loads data.
 *
 * @param load is called again when one of the values in `given` changes
 * @param everyMs time between a response and the next request; null to load only once
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
  /** Values of `given` for which the value was loaded. */
  const loadedFor = useRef<readonly unknown[]>([]);
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    setState((before) => ({ ...before, isLoading: true }));
    const once = async (): Promise<void> => {
      try {
        const value = await load(signal);
        if (signal.aborted) return;
        loadedFor.current = given;
        setState({ value, failure: null, isLoading: false });
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof HoneError && error.status === 401) endSession();
        // A value for other arguments, such as another project, would contradict the error.
        const isSame = given.every((one, index) => Object.is(one, loadedFor.current[index]));
        setState(({ value }) => ({
          value: isSame ? value : null,
          failure: messageOf(error),
          isLoading: false,
        }));
      }
    };
    const repeat = async (): Promise<void> => {
      await once();
      if (everyMs === null) return;
      while (!signal.aborted) {
        await pause(everyMs, signal);
        await untilVisible(signal);
        if (!signal.aborted) await once();
      }
    };
    void repeat();
    return () => leaving.abort();
    // The linter cannot check the dependencies: the caller lists in `given` which values `load` captures.
  }, [...given, turn, everyMs]);
  const isLost = isAway.value;
  useEffect(() => {
    if (!isLost && state.failure !== null) reload();
    // Only the return of the server causes a reload, not the failure itself.
  }, [isLost]);
  return { ...state, reload };
}
