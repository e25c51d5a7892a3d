// Hook that loads, adds and removes feedback on a subject, and provides the records that the server has confirmed.
import { useCallback, useState } from "preact/hooks";
import type { FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { useLoaded, messageOf } from "../use-loaded.ts";
import type { Given } from "./records.ts";
import type { Subject } from "./references.ts";

export interface FeedbackOn {
  /** Records, oldest first; at most a thousand. */
  readonly records: readonly FeedbackRecord[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  /** Message of the last error; null if there is none. */
  readonly failure: string | null;
  readonly give: (given: Given, onDone?: () => void) => void;
  readonly remove: (id: string) => void;
}

export function useFeedback(hone: Hone, { projectId, reference }: Subject): FeedbackOn {
  const [failure, setFailure] = useState<string | null>(null);
  const loaded = useLoaded(
    (signal) => hone.feedback.on(projectId, reference, { signal }).first(),
    [hone, projectId, reference],
  );
  const { reload } = loaded;
  const change = useCallback(
    (work: () => Promise<unknown>, onDone?: () => void): void => {
      const done = async (): Promise<void> => {
        await work();
        setFailure(null);
        onDone?.();
        reload();
      };
      done().catch((error: unknown) => setFailure(messageOf(error)));
    },
    [reload],
  );
  return {
    records: loaded.value?.data ?? [],
    hasMore: loaded.value?.has_more ?? false,
    isLoaded: loaded.value !== null,
    failure: failure ?? loaded.failure,
    give: (given, onDone) =>
      change(() => hone.feedback.create({ project_id: projectId, weave_ref: reference, ...given }), onDone),
    remove: (id) => change(() => hone.feedback.delete(projectId, id)),
  };
}
