// Hook that loads, adds and removes feedback on a subject, and provides the records that the server has confirmed.
import { useCallback, useRef, useState } from "preact/hooks";
import type { FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { messageOf } from "../components/errors/error-text.ts";
import { say } from "../components/status-message.tsx";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { type Given, reaction, reactionChange } from "./records.ts";
import type { Subject } from "./references.ts";

export interface FeedbackOn {
  /** Records, oldest first; at most a thousand. */
  readonly records: readonly FeedbackRecord[];
  readonly hasMore: boolean;
  readonly isLoaded: boolean;
  /** True if the key may give and remove feedback. */
  readonly canJudge: boolean;
  /** Message of the last error; null if there is none. */
  readonly failure: string | null;
  readonly give: (given: Given, onDone?: () => void) => void;
  /** Adds a reaction and removes its opposite; removes the reaction if it is already among the own records. */
  readonly react: (emoji: string, isOwn: (record: FeedbackRecord) => boolean) => void;
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
    (work: () => Promise<unknown>, said?: string, onDone?: () => void): void => {
      const done = async (): Promise<void> => {
        await work();
        setFailure(null);
        onDone?.();
        if (said !== undefined) say(said);
        reload();
      };
      done().catch((error: unknown) => setFailure(messageOf(error)));
    },
    [reload],
  );
  const last = useRef<Promise<void>>(Promise.resolve());
  /** Reads the records again, because those on the screen may lack a reaction of a moment ago. */
  const changeReaction = async (emoji: string, isOwn: (record: FeedbackRecord) => boolean): Promise<void> => {
    const { data } = await hone.feedback.on(projectId, reference).first();
    const { isAdded, removed } = reactionChange(data.filter(isOwn), emoji);
    if (isAdded)
      await hone.feedback.create({ project_id: projectId, weave_ref: reference, ...reaction(emoji) });
    for (const id of removed) await hone.feedback.delete(projectId, id);
  };
  return {
    records: loaded.value?.data ?? [],
    hasMore: loaded.value?.has_more ?? false,
    isLoaded: loaded.value !== null,
    canJudge: may("judge"),
    failure: failure ?? loaded.failure,
    give: (given, onDone) =>
      change(
        () => hone.feedback.create({ project_id: projectId, weave_ref: reference, ...given }),
        "Feedback saved.",
        onDone,
      ),
    react: (emoji, isOwn) =>
      change(() => {
        const done = last.current.then(() => changeReaction(emoji, isOwn));
        // A reaction that failed does not block the next one.
        last.current = done.catch(() => undefined);
        return done;
      }),
    remove: (id) => change(() => hone.feedback.delete(projectId, id), "Feedback removed."),
  };
}
