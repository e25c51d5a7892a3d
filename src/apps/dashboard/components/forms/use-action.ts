// Hook for buttons and forms that change something: runs one action at a time, and keeps the message of its error.
import { useState } from "preact/hooks";
import { messageOf } from "../errors/error-text.ts";
import { say } from "../status-message.tsx";

export interface Action {
  readonly isBusy: boolean;
  /** Message of the last action's error; null if it succeeded. */
  readonly failure: string | null;
  /** @param done message that the page shows after a success; absent if the result is in sight */
  readonly run: (work: () => Promise<unknown>, done?: string) => void;
}

export function useAction(): Action {
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const start = async (work: () => Promise<unknown>, done?: string): Promise<void> => {
    setFailure(null);
    setIsBusy(true);
    try {
      await work();
      if (done !== undefined) say(done);
    } catch (error) {
      setFailure(messageOf(error));
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, failure, run: (work, done) => void start(work, done) };
}
